// Tables of rows, in the explorer and in a page without a server.

function textNode(tag, text, cls) {
  const node = document.createElement(tag);
  node.textContent = text;
  if (cls) node.className = cls;
  return node;
}

// Rows as a table: text only, whatever a name looks like; `head` alone is our own HTML.
function tableOf(rows, { head = [], empty = '', isOn = () => false, choose }) {
  if (!rows.length) return textNode('div', empty, 'empty');
  const table = document.createElement('table');
  if (head.length) {
    const line = document.createElement('tr');
    head.forEach((html, i) => {
      const title = textNode(html ? 'th' : 'td', '', i ? 'number' : '');
      title.innerHTML = html;
      line.append(title);
    });
    table.append(line);
  }
  for (const row of rows) {
    const line = document.createElement('tr'), first = document.createElement('td');
    if (row.chip) {
      const chip = textNode('span', row.mark || '', 'chip');
      chip.style.background = row.chip;
      chip.style.color = row.ink || '#fff';
      first.append(chip);
    }
    first.append(textNode('span', row.text, 'text'));
    if (row.share !== undefined) {
      const bar = textNode('span', '', 'share');
      bar.style.width = `${(100 * row.share).toFixed(1)}%`;
      bar.style.background = row.chip;
      first.append(bar);
    }
    const cells = (row.cells || []).some(Boolean) ? row.cells : [];
    if (!cells.length) first.colSpan = 99;  // words alone have the whole line
    line.append(first, ...cells.map((text) => textNode('td', text, 'number')));
    if (row.about) line.title = row.about;
    if (row.title) line.className = 'title';
    if (row.key) {
      line.tabIndex = 0;
      line.className = isOn(row.key) ? 'tap on' : 'tap';
      line.dataset.key = row.key;
      line.onclick = () => choose(row.key);
      line.onkeydown = (event) => { if (event.key === 'Enter') choose(row.key); };
    }
    table.append(line);
  }
  return table;
}
