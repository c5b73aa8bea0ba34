"""Saves one figure as a picture; only the browser can draw it."""

from __future__ import annotations

from app.widgets.component import Component


class Picture(Component):
    """Finds a figure by a class that only it has and saves it as PNG or SVG."""

    def save_figure(self, figure: str, kind: str, name: str) -> None:
        """Save the figure that has the class `figure` as `name` with the ending `kind`."""
        self._send_msg({"figure": figure, "kind": kind, "name": name})

    _esm = """
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
"""
