// The items of a lecture, to be written, ordered and shown; each change is sent as it is made.
export function render({ model }) {
  const root = document.createElement('div');
  const make = (tag, props = {}, ...inner) => {
    const node = Object.assign(document.createElement(tag), props);
    node.append(...inner);
    return node;
  };
  const send = (act, place, more = {}) => model.send_msg({ act, place, ...more });
  function field(tag, place, name, text, label) {
    const node = make(tag, { value: text, placeholder: label });
    node.setAttribute('aria-label', `${label} of item ${place + 1}`);
    node.onchange = () => send('edit', place, { [name]: node.value });
    return node;
  }
  function button(text, label, act, place, more) {
    const node = make('button', { type: 'button', textContent: text, title: label });
    node.setAttribute('aria-label', label);
    node.onclick = () => send(act, place, more);
    return node;
  }
  function draw() {
    const { items, at } = model;
    if (!items.length) {
      root.replaceChildren(make('p', { textContent: 'No item yet. Set the page to what the audience '
        + 'should see, then add it; or drop a lecture file anywhere on the page.' }));
      return;
    }
    root.replaceChildren(...items.map((item, i) => {
      const row = make('section', { className: i === at ? 'on' : '' });
      row.append(make('div', { className: 'row' }, make('b', { textContent: `${i + 1}.` }),
        field('input', i, 'title', item.title, 'title'),
        button('show', `show item ${i + 1}`, 'go', i),
        button('↑', `item ${i + 1} up`, 'move', i, { by: -1 }),
        button('↓', `item ${i + 1} down`, 'move', i, { by: 1 }),
        button('✕', `take item ${i + 1} away`, 'drop', i)),
      field('textarea', i, 'note', item.note, 'note'));
      return row;
    }));
  }
  model.on(['items', 'at'], draw);
  draw();
  return root;
}
