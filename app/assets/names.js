// What is heard where only a sign, a placeholder or a box is seen; and the theme, told to the server.
export function render({ model, view }) {
  const named = (view) => {
    const { model } = view, kind = (model.css_classes || [])[0] || '';
    const told = (model.tooltip || model.description || {}).content || model.description;
    const at = view.button_el || view.input_el || view.checkbox_el, words = kind.replaceAll('-', ' ');
    const about = told || (view.button_el ? '' : model.placeholder || words);
    const seen = model.label || model.title || '';
    if (at && !/[A-Za-z]{2}/.test(seen) && about && typeof about === 'string')
      at.setAttribute('aria-label', about);
    if (at && at.type === 'checkbox') at.setAttribute('aria-label', seen || words);
    if (model.type.endsWith('Slider') && view.slider_el)
      view.slider_el.querySelector('.noUi-handle').setAttribute('aria-label', words || 'step');
    if (model.type.endsWith('RadioButtonGroup') && view.shadow_el) {
      const group = view.shadow_el.querySelector('.bk-btn-group');
      if (group) group.setAttribute('aria-label', words.replace(/^switch$/, '') || 'choice');
    }
    for (const child of view.child_views || []) named(child);
  };
  const nameAll = () => {
    const page = window.Bokeh && Bokeh.documents[0];
    if (page && page.is_idle) for (const root of Bokeh.index.roots) named(root);
    else setTimeout(nameAll, 200);
  };
  let due = 0;
  const nameSoon = () => { clearTimeout(due); due = setTimeout(nameAll, 300); };
  nameAll();
  document.addEventListener('spillway-more', nameAll);
  view.model.document.on_change(({ attr }) => { if (/^(children|visible)$/.test(attr)) nameSoon(); });

  let dark = model.dark;  // as the figures are
  const turn = () => {
    const wanted = document.documentElement.dataset.theme === 'dark';
    if (wanted === dark) return;
    dark = wanted;
    model.send_msg({ key: dark ? 'dark' : 'light' });
  };
  document.addEventListener('spillway-theme', turn);
  turn();
  return document.createElement('span');
}
