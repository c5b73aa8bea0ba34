export function render({ model }) {
  const root = document.createElement('div');
  const make = (tag, text, cls) => {
    const node = document.createElement(tag);
    if (text) node.textContent = text;
    if (cls) node.className = cls;
    return node;
  };
  function button(given) {
    const made = make('button', given.text, given.kind || '');
    made.title = given.about || given.text;
    if (given.about) made.setAttribute('aria-description', given.about);
    made.setAttribute('aria-label', given.said || given.text);
    if (given.on !== undefined) made.setAttribute('aria-pressed', given.on);
    made.dataset.key = given.key;
    made.disabled = !!given.disabled;
    made.onclick = () => model.send_msg({ key: given.key });
    return made;
  }
  function row(given) {
    const line = make('div', '', given.faint ? 'row faint' : 'row');
    line.append(make('span', given.mark, 'mark'));
    const words = make('span', given.text, 'words');
    if (given.note) words.append(make('small', given.note));
    line.append(words);
    if (given.key) line.append(button({ text: '✕', key: given.key, kind: 'cross',
      said: `drop ${given.text}`, about: `withdraw: ${given.text}` }));
    return line;
  }
  function table(rows) {
    const made = make('table');
    rows.forEach((cells, i) => {
      const line = make('tr');
      cells.forEach((text, j) => line.append(make(i && j ? 'td' : 'th', text, j ? 'number' : '')));
      made.append(line);
    });
    return made;
  }
  function draw() {
    const held = root.querySelector(':focus');
    const key = held ? held.dataset.key : '';
    root.replaceChildren(...model.sections.map((given) => {
      const part = make('section', '', given.tone || '');
      if (given.tone === 'wrong' || given.tone === 'picking') part.setAttribute('role', 'status');
      if (given.title) part.append(make('h2', given.title));
      if (given.text) part.append(make('p', given.text));
      (given.rows || []).forEach((item) => part.append(row(item)));
      if (given.table) part.append(table(given.table));
      if ((given.buttons || []).length) {
        const bar = make('div', '', 'buttons');
        bar.append(...given.buttons.map(button));
        part.append(bar);
      }
      return part;
    }));
    if (key) for (const node of root.querySelectorAll('button'))
      if (node.dataset.key === key) node.focus();
  }
  const show = () => root.getRootNode().host.scrollIntoView({ block: 'nearest' });
  model.on('msg:custom', () => setTimeout(show, 250));
  model.on('sections', draw);
  draw();
  return root;
}
