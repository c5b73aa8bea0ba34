export function render({ model, view }) {
  const root = document.createElement('div');
  let rows = model.rows, selected = '', isOn = () => false;
  if (model.part === 'story') root.setAttribute('aria-live', 'polite');
  function draw() {
    const { head, empty, selects } = model, page = view.model.document;
    const choose = (key) => (selects
      ? document.dispatchEvent(new CustomEvent('spillway-choose', { detail: { key, page } }))
      : model.send_msg({ key }));
    root.replaceChildren(tableOf(rows, { head, empty, isOn, choose }));
    reach();
  }
  // Where no row can be reached by key, what has to be scrolled can.
  function reach() {
    const { host } = root.getRootNode();
    if (!host) return;
    const cut = host.scrollHeight > host.clientHeight + 1 && !root.querySelector('.tap');
    if (cut) host.tabIndex = 0;
    else host.removeAttribute('tabindex');
  }
  new ResizeObserver(reach).observe(root);
  if (!model.part) model.on(['rows', 'head'], () => { rows = model.rows; draw(); });
  draw();
  if (model.selects) atEachStep(model, view, (told) => {
    const same = selected === told.selection;
    selected = told.selection;
    if (same && !model.part) return;  // its rows are of no step
    isOn = model.part === 'live' ? told.isOn : (key) => key === selected;
    if (model.part) rows = told[model.part];
    if (rows) draw();
    else root.replaceChildren(textNode('div', '…', 'empty'));  // its words are on their way
  });
  return root;
}
