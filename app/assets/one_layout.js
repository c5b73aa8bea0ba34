// For each property that has to do with layout Bokeh lays out the whole page, and paints all of its
// figures, at once. Of those that come in one message, once is enough, when all of them are there;
// so it is of those that a script changes together: `document.laidOutOnce(act)`. Each time it also
// empties the style sheets of all views and writes them again, mostly the same: those stay.
document.addEventListener('DOMContentLoaded', () => {
  const named = (view, name) => view.__name__ === name ? view : named(Object.getPrototypeOf(view), name);
  const LayoutView = named(Bokeh.Models.get('Select').prototype.default_view, 'LayoutDOMView');
  const { Document } = Bokeh.require('document');
  const { InlineStyleSheet } = Bokeh.require('core/dom');
  const { invalidate_layout, update_layout } = LayoutView.prototype;
  const { apply_json_patch } = Document.prototype;
  let roots = null;  // to be laid out once the message is over; null while there is none
  LayoutView.prototype.invalidate_layout = function () {
    if (roots === null) { invalidate_layout.call(this); return; }
    let root = this;
    while (root.parent instanceof LayoutView) root = root.parent;
    roots.add(root);
  };
  document.laidOutOnce = (act) => {
    if (roots !== null) { act(); return; }
    const laid = roots = new Set();
    try {
      act();
    } finally {
      roots = null;
      for (const root of laid) root.invalidate_layout();
    }
  };
  Document.prototype.apply_json_patch = function (...message) {
    document.laidOutOnce(() => apply_json_patch.apply(this, message));
  };

  const { _update } = InlineStyleSheet.prototype;
  let sheets = null;  // what they are to say once all views are laid out; null while none is
  Object.defineProperty(InlineStyleSheet.prototype, 'css', {
    get() { return sheets?.get(this) ?? this.el.textContent; },
  });
  InlineStyleSheet.prototype._update = function (css) {
    if (sheets === null) _update.call(this, css);
    else sheets.set(this, css);
  };
  LayoutView.prototype.update_layout = function () {
    if (sheets !== null) { update_layout.call(this); return; }
    const written = sheets = new Map();
    try {
      update_layout.call(this);
    } finally {
      sheets = null;
      for (const [sheet, css] of written) if (sheet.css !== css) _update.call(sheet, css);
    }
  };
});
