export function render({ model, view }) {
  const root = document.createElement('div');
  atEachStep(model, view, (told) => { root.innerHTML = told[model.part] || ''; });
  return root;
}
