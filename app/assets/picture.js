function find(wanted) {
  let found = null;
  const walk = (view) => {
    const model = view.model;
    if (model && model.type === 'Figure' && model.css_classes.includes(wanted)) found = view;
    for (const child of view.child_views || []) walk(child);
  };
  for (const root of Bokeh.index.roots) walk(root);
  return found;
}
export function render({ model }) {
  model.on('msg:custom', async (event) => {
    const { figure, kind, name } = event.data || event;
    const view = find(figure);
    if (!view) return;
    const blob = await view.export(kind).to_blob();
    const link = document.createElement('a');
    link.href = URL.createObjectURL(blob);
    link.download = `${name}.${kind}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  });
  return document.createElement('span');
}
