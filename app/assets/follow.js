// What follows the cursor, in the explorer and in a page without a server.

// The bands over the figures and the ring around a node; `view` has the models by their names.
function moveBands(view, step) {
  for (const band of [view.map_band, view.held_band]) band.setv({ left: step, right: step + 1 });
  const { start, stop } = view.times.data, { x, y, w, h } = view.where.data;
  if (step < start.length) view.time_band.setv({ left: start[step], right: stop[step] });
  if (step < x.length)
    view.ring.setv({ left: x[step] - w[step] / 2, right: x[step] + w[step] / 2,
      top: y[step] - h[step] / 2, bottom: y[step] + h[step] / 2 });
}

// Bring the ring's node into sight.
function bringIntoSight({ where, dag_range }, step) {
  if (!(step < where.data.x.length)) return;
  const x = where.data.x[step], width = dag_range.end - dag_range.start;
  if (x >= dag_range.start + 0.3 && x <= dag_range.end - 0.3) return;
  const low = Math.max(dag_range.reset_start,
    Math.min(x - width / 2, dag_range.reset_end - width));
  dag_range.setv({ start: low, end: low + width });
}

// A frame of a film: its models in the states they have then. Models come later than films.
function play(film, number, modelOf) {
  const frame = film.frames[number];
  if (!frame) return;
  let whole = true;
  film.models.forEach((id, i) => {
    if (film.now && film.now[i] === frame[i]) return;
    const state = film.states[i][frame[i]], model = modelOf(id);
    if (model) model.setv(state.data ? { data: { ...state.data } } : state);
    else whole = false;
  });
  film.now = whole ? frame : null;
}

// Rows out of a book; a row's own bar is beside its number.
function rowsOf(book, numbers) {
  return numbers.map((entry) =>
    (Array.isArray(entry) ? { ...book[entry[0]], share: entry[1] } : book[entry]));
}

// The words of a step; nothing where these pages do not have it.
function wordsAt(pages, step) {
  const k = step - pages.first;
  if (!(k >= 0 && k < pages.title.length)) return null;
  return { title: pages.title[k], live: rowsOf(pages.book, pages.live[k]),
    story: rowsOf(pages.book, pages.story[k]) };
}

// The nearest of some rising steps after one, or before it; it stays where there is none.
function nearest(steps, step, direction) {
  const ahead = steps.filter((at) => (direction > 0 ? at > step : at < step));
  return ahead.length ? ahead.at(direction > 0 ? 0 : -1) : step;
}

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
      const title = textNode('th', '', i ? 'number' : '');
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
    if (row.title) line.className = 'title';
    if (row.key) {
      line.tabIndex = 0;
      line.className = row.on || isOn(row.key) ? 'tap on' : 'tap';
      line.dataset.key = row.key;
      line.onclick = () => choose(row.key);
      line.onkeydown = (event) => { if (event.key === 'Enter') choose(row.key); };
    }
    table.append(line);
  }
  return table;
}

// In the explorer: act on the words of each step, from now on, until a component is removed.
function atEachStep(model, view, act) {
  const hear = ({ detail }) => { if (detail.page === view.model.document) act(detail); };
  document.addEventListener('spillway-step', hear);
  model.on('remove', () => document.removeEventListener('spillway-step', hear));
  document.dispatchEvent(new CustomEvent('spillway-hello'));
}
