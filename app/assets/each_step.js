// In the explorer: act on the words of each step, from now on, until a component is removed.
function atEachStep(model, view, act) {
  const hear = ({ detail }) => { if (detail.page === view.model.document) act(detail); };
  document.addEventListener('spillway-step', hear);
  model.on('remove', () => document.removeEventListener('spillway-step', hear));
  document.dispatchEvent(new CustomEvent('spillway-hello'));
}
