export function render({ model }) {
  const root = document.createElement('div');
  let parts = new Map();
  function make(tag, className, text = '') {
    const made = document.createElement(tag);
    made.className = className; made.textContent = text;
    return made;
  }
  function field(row) {
    const line = make('div', 'line'), label = make('label', 'name', row.label);
    const input = make('input', 'number'), dot = make('span', 'dot', '●');
    const about = make('div', 'about');
    input.type = 'text'; input.id = row.name; label.htmlFor = row.name;
    input.autocomplete = 'off'; input.spellcheck = false;
    about.id = 'about-' + row.name; dot.setAttribute('aria-hidden', 'true');
    input.setAttribute('aria-describedby', about.id);
    const part = { row, input, dot, about, dirty: false };
    const commit = () => {
      if (!part.dirty) return;
      part.dirty = false;
      model.send_msg({ key: `${row.name} ${input.value}` });
    };
    input.addEventListener('input', () => { part.dirty = true; });
    input.addEventListener('change', commit);
    input.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') commit();
      else if (event.key === 'Escape') { part.dirty = false; input.value = part.row.text; }
      else return;
      event.preventDefault(); event.stopPropagation();
    });
    line.append(label, input, dot, about);
    parts.set(row.name, part);
    return line;
  }
  function show(row) {
    const part = parts.get(row.name);
    part.row = row;
    if (!part.dirty) part.input.value = row.text;  // never what somebody is typing
    part.input.title = `${row.source ? row.source + '. ' : ''}The preset has ${row.preset}; `
      + `write e.g. ${row.example}, or nothing for the preset's.`;
    part.input.setAttribute('aria-label', `${row.group}: ${row.label}`);
    part.input.setAttribute('aria-invalid', String(Boolean(row.wrong)));
    part.input.classList.toggle('wrong', Boolean(row.wrong));
    part.dot.style.visibility = row.changed ? 'visible' : 'hidden';
    const said = row.wrong || (row.changed ? `the preset has ${row.preset}` : '');
    if (part.about.textContent !== said) part.about.textContent = said;
    part.about.className = row.wrong ? 'about wrong' : 'about';
    if (row.wrong) part.about.setAttribute('role', 'alert');
    else part.about.removeAttribute('role');
  }
  function draw() {
    const names = model.rows.map((row) => row.name);
    const same = names.length === parts.size && names.every((name) => parts.has(name));
    if (!same) {
      parts = new Map();
      const groups = new Map();
      for (const row of model.rows) {
        if (!groups.has(row.group)) {
          const group = make('div', 'group');
          group.setAttribute('role', 'group'); group.setAttribute('aria-label', row.group);
          group.append(make('div', 'title', row.group));
          groups.set(row.group, group);
        }
        groups.get(row.group).append(field(row));
      }
      root.replaceChildren(...groups.values());
    }
    model.rows.forEach(show);
  }
  model.on('rows', draw);
  draw();
  return root;
}
