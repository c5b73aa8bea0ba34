// The presenter: one or two views fill the screen under the sentences of the step, for a hall. Views
// are not moved, only placed over the page, which is hidden; figures are made to fit, their words as
// large as the screen allows. All of it is undone at the end.
const SAY = 0.034, WORDS = 0.024;  // heights of letters in heights of the screen
const ROOM = 6, TALLEST = 2.5;

const isThere = (node) => node && getComputedStyle(node).display !== 'none';

function figuresIn(view) {
  if (view.model.type === 'Figure') return [view];
  return (view.child_views || []).flatMap(figuresIn);
}
function boxView(name) {
  const search = (view) => ((view.model.css_classes || []).includes(name) ? view
    : (view.child_views || []).map(search).find(Boolean));
  return Bokeh.index.roots.map(search).find(Boolean);
}

// ---- figures: their heights, and the sizes of their letters --------------------------------
const once = document.laidOutOnce ?? ((act) => act());  // a notebook's page has no such thing
const SIZES = ['major_label_text_font_size', 'axis_label_text_font_size', 'text_font_size',
  'label_text_font_size'];
const before = new Map();  // what was, of each model that is changed
function change(model, values) {
  if (!before.has(model)) before.set(model, {});
  const was = before.get(model), now = {};
  for (const [name, value] of Object.entries(values)) {
    if (!(name in was)) was[name] = model[name];
    now[name] = value;
  }
  model.setv(now, { sync: false });
}
function restore() {
  once(() => { for (const [model, was] of before) model.setv(was, { sync: false }); });
  before.clear();
}
function lettered(figure) {
  const { title, above, below, left, right, center, renderers } = figure;
  const glyphs = renderers.map((one) => one.glyph).filter(Boolean);
  return [title, ...above, ...below, ...left, ...right, ...center, ...renderers, ...glyphs]
    .filter(Boolean);
}
function enlarge(figure, factor) {
  for (const model of lettered(figure)) for (const name of SIZES) {
    if (!(name in model.properties)) continue;
    const was = (before.get(model) || {})[name] ?? model[name];
    const text = was && was.value !== undefined ? was.value : was;
    const size = /^([\d.]+)px$/.exec(text);
    if (!size) continue;
    const now = `${Math.round(size[1] * factor)}px`;
    change(model, { [name]: was && was.value !== undefined ? { ...was, value: now } : now });
  }
  if (typeof figure.min_border_left === 'number') {
    const was = (before.get(figure) || {}).min_border_left ?? figure.min_border_left;
    change(figure, { min_border_left: Math.round(was * (0.4 + 0.6 * factor)) });
  }
}
const HIDDEN = ['map-brush'], OF_TWO = ['occupancy', 'dag-overview'];  // beside a second view
function hide(view, two) {  // what a hall has no room for; an axis of what it was the axis of
  for (const { model } of figuresIn(view)) {
    const of = (names) => names.some((name) => model.css_classes.includes(name));
    change(model, { visible: !(of(HIDDEN) || (two && of(OF_TWO))) });
    if (of(['address-map'])) change(model.below[0], { visible: two });
  }
}
const seenIn = (view) => figuresIn(view).filter(({ model, el }) =>
  model.visible && el.getClientRects().length);
const wanted = (model) => (before.get(model) || {}).height ?? model.height ?? 200;
function headOf(view, host) {  // pixels of what is not a figure
  const inFlow = (node) => getComputedStyle(node).position !== 'absolute';  // no button to scroll
  const inner = [...host.shadowRoot.children].filter(inFlow).reduce((most, node) =>
    Math.max(most, node.getBoundingClientRect().bottom), 0) - host.getBoundingClientRect().top;
  return inner - rowsOf(view).reduce((sum, row) => sum + row.height, 0);
}
function rowsOf(view) {
  const rows = [];
  for (const figure of seenIn(view)) {
    const { top, height } = figure.el.getBoundingClientRect();
    const row = rows.find((one) => Math.abs(one.top - top) < 4);
    if (row) row.figures.push(figure);
    else rows.push({ top, height, figures: [figure] });
  }
  return rows;
}
function fit(view, host, high) {  // figures of a row are equally high, rows share what there is
  const rows = rowsOf(view), free = high - ROOM - headOf(view, host);
  if (!rows.length || free < 40) return;
  const usual = (row) => Math.max(...row.figures.map(({ model }) => wanted(model)));
  const share = (row) => usual(row) ** 0.7;  // a low figure has as many words as a high one
  const whole = rows.reduce((sum, row) => sum + share(row), 0);
  for (const row of rows) {
    const graph = row.figures.some(({ model }) => model.css_classes.includes('dag'));
    const most = graph ? TALLEST * usual(row) : free;  // of a graph only the boxes would grow
    const height = Math.floor(Math.min(most, free * share(row) / whole));
    if (Math.abs(height - row.height) < 3) continue;
    for (const figure of row.figures) change(figure.model, { height });
  }
}

// ---- the bar over the views ----------------------------------------------------------------
const CSS = `
:host { position: fixed; left: 0; right: 0; top: 0; z-index: 40; box-sizing: border-box;
  background: var(--sw-panel); color: var(--sw-text); border-bottom: 1px solid var(--sw-grid);
  font: ${100 * WORDS}vh/1.3 var(--sw-font); padding: 4px 10px; }
.row { display: flex; align-items: center; gap: 6px; flex-wrap: wrap; }
h1 { margin: 0; font-size: ${100 * SAY}vh; line-height: 1.2; flex: 1 1 auto; min-width: 0; }
p { margin: 2px 0 0; max-height: 17vh; overflow: auto; white-space: pre-line;
  overflow-wrap: anywhere; }
.busy { color: var(--sw-faint); }
.wrong { color: var(--sw-alarm); font-weight: 600; }
button { font: 600 13px var(--sw-font); padding: 3px 9px; border-radius: 5px; cursor: pointer;
  border: 1px solid var(--sw-faint); background: transparent; color: inherit; }
button[aria-pressed=true] { background: #0072B2; border-color: #0072B2; color: #fff; }
button:focus-visible { outline: 2px solid #E69F00; outline-offset: 1px; }
.black { position: fixed; inset: 0; background: #000; z-index: 60; cursor: pointer; }`;

function part(tag, cls, text) {
  const node = document.createElement(tag);
  if (cls) node.className = cls;
  if (text) node.textContent = text;
  return node;
}

export function render({ model, view }) {
  const page = view.model.document, root = document.documentElement;
  const host = part('section', 'presenter-bar');
  host.setAttribute('aria-label', 'presenter');
  const tree = host.attachShadow({ mode: 'open' });
  let timer = null, last = model.layout || model.usual, black = null, placed = '';

  const boxesOf = (name) => (model.layouts[name] || { boxes: [] }).boxes;
  const look = () => firsts(document,
    ['stepper', 'story-box', ...Object.keys(model.layouts).flatMap(boxesOf)]);
  const offered = (seen = look()) => Object.keys(model.layouts).filter((name) =>
    boxesOf(name).every((box) => isThere(seen[box])));
  const isOn = () => Boolean(model.layout);
  function turn(name) {
    if (name) last = name;
    model.layout = name;
  }
  function send(key) {  // as from the keyboard
    const detail = { key, page };
    const event = new CustomEvent('spillway-key', { detail, cancelable: true });
    if (document.dispatchEvent(event)) model.send_msg({ key });
  }
  const onward = (by) => (model.item.of
    ? model.send_msg({ item: by }) : send(by > 0 ? 'ArrowRight' : 'ArrowLeft'));
  function darken() {
    if (black) { black.remove(); black = null; return; }
    black = part('div', 'black');
    black.onclick = darken;
    tree.append(black);
  }

  function draw() {
    const { item } = model, head = part('div', 'row');
    head.append(part('h1', '', item.title || model.title));
    const button = (text, about, act, cls) => {
      const one = part('button', cls, text);
      one.title = about;
      one.setAttribute('aria-label', about);
      one.onclick = act;
      head.append(one);
      return one;
    };
    if (item.of) {
      button('◀', 'previous item of the lecture: Shift and PageUp', () => model.send_msg({ item: -2 }), 'before');
      head.append(part('span', 'count', item.number ? `${item.number} of ${item.of}` : `${item.of} items`));
      button('▶', 'next item of the lecture: Shift and PageDown', () => model.send_msg({ item: 2 }), 'after');
    }
    offered().forEach((name, i) => {
      const { words } = model.layouts[name];
      const one = button(words, `${words}: key ${i + 1}`, () => turn(name), `layout ${name}`);
      one.setAttribute('aria-pressed', String(name === model.layout));
    });
    button('✕', 'back to the whole page: Esc', () => turn(''), 'leave');
    const lines = [];
    if (item.note) lines.push(part('p', 'note', item.note));
    if (item.title && model.title) lines.push(part('p', 'busy', model.title));
    if (model.busy) lines.push(part('p', 'busy', model.busy));
    if (model.wrong) { lines.push(part('p', 'wrong', model.wrong)); lines.at(-1).setAttribute('role', 'alert'); }
    tree.replaceChildren(part('style', '', CSS), head, ...lines, ...(black ? [black] : []));
  }

  // ---- where everything is -----------------------------------------------------------------
  function place() {
    if (!isOn()) return;
    const { boxes, sentences } = model.layouts[model.layout], seen = look();
    const hosts = boxes.map((name) => seen[name]).filter(isThere);
    const spoken = (sentences ? ['stepper', 'story-box'] : []).map((name) => seen[name]);
    const now = [...spoken, ...hosts].filter(Boolean);
    const known = marked.filter((node) => !now.includes(node));
    for (const node of known) unmark(node);
    for (const node of now) mark(node, node === now[0] ? 'first' : '');
    const scale = window.innerHeight * WORDS / 11.5;
    root.style.setProperty('--sw-large', `${window.innerHeight * WORDS}px`);
    root.style.setProperty('--sw-say', `${window.innerHeight * SAY}px`);
    root.style.setProperty('--sw-scale', scale);
    const two = hosts.length > 1 && boxes[1] !== 'split-views';
    root.style.setProperty('--sw-story', two ? '10vh' : '20vh');
    let top = host.getBoundingClientRect().height + 4;
    const put = (node, high) => {
      node.style.setProperty('--sw-top', `${top}px`);
      node.style.setProperty('--sw-high', high ? `${high}px` : 'auto');
      top += (high || node.getBoundingClientRect().height) + 4;
    };
    for (const node of spoken) if (node) put(node, 0);
    const rest = window.innerHeight - top - 4 * hosts.length;
    const views = hosts.map((node) => boxView(boxes.find((name) => seen[name] === node)));
    once(() => {
      for (const one of views) {
        hide(one, two);
        for (const figure of figuresIn(one)) enlarge(figure.model, scale);
      }
    });
    const heads = views.map((one, i) => headOf(one, hosts[i]));
    const wants = views.map((one) => Math.max(1, seenIn(one).reduce((all, { model }) =>
      all + wanted(model), 0)));
    const sum = (values) => values.reduce((a, b) => a + b, 0);
    const free = Math.max(0, rest - sum(heads));  // what figures share, by what they want
    once(() => hosts.forEach((node, i) => {
      const share = Math.max(0.3, Math.min(0.7, wants[i] / sum(wants)));
      const high = hosts.length === 1 ? rest : Math.floor(heads[i] + free * share);
      put(node, high);
      fit(views[i], node, high);
    }));
    const offer = offered(seen).join(' ');
    if (placed !== offer) { placed = offer; draw(); }
  }
  const marked = [];
  function mark(node, how) {
    if (!marked.includes(node)) marked.push(node);
    node.setAttribute('data-presented', how);
  }
  function unmark(node) {
    marked.splice(marked.indexOf(node), 1);
    node.removeAttribute('data-presented');
  }
  function show() {
    draw();
    if (isOn()) {
      if (!host.isConnected) document.body.append(host);
      last = model.layout;
      root.dataset.presenter = model.layout;
      if (!timer) timer = setInterval(place, 250);
      place();
      return;
    }
    clearInterval(timer);
    timer = null;
    for (const node of [...marked]) unmark(node);
    delete root.dataset.presenter;
    for (const name of ['large', 'say', 'scale', 'story']) root.style.removeProperty(`--sw-${name}`);
    restore();
    if (black) darken();
    host.remove();
  }

  // ---- keys and buttons --------------------------------------------------------------------
  const ACTS = {
    p: () => turn(isOn() ? '' : last), Escape: () => turn(''), '.': darken, b: darken,
    PageDown: () => onward(1), PageUp: () => onward(-1),
  };
  function pressed(event) {  // a key of the page's
    const { key } = event.detail;
    if (event.detail.page !== page || !(key === 'p' || (isOn() && ACTS[key]))) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    ACTS[key]();
  }
  function typed(event) {  // those that the page leaves to the browser where nobody presents
    if (!isOn() || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (document.querySelector('.spillway-tour')) return;
    const at = event.composedPath()[0];
    if (at && /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName)) return;
    const { key, shiftKey } = event, paged = { PageDown: 1, PageUp: -1 }[key];
    const layout = /^[1-9]$/.test(key) && offered()[Number(key) - 1];
    if (paged && shiftKey && model.item.of) model.send_msg({ item: 2 * paged });
    else if (paged || key === '.') ACTS[key]();
    else if (layout) turn(layout);
    else return;
    event.preventDefault();
  }
  function clicked(event) {
    const classes = event.composedPath().flatMap((on) => [...(on.classList || [])]);
    const name = classes.find((one) => one.startsWith('present-'));
    if (name) turn(name === 'present-usual' ? (isOn() ? '' : last) : name.slice('present-'.length));
  }
  document.addEventListener('spillway-key', pressed, true);
  document.addEventListener('keydown', typed, true);
  document.addEventListener('click', clicked, true);
  window.addEventListener('resize', place);
  model.on('layout', show);
  model.on(['title', 'busy', 'wrong', 'item', 'layouts'], () => { if (isOn()) { draw(); place(); } });
  model.on('remove', () => {
    clearInterval(timer);
    host.remove();
    document.removeEventListener('spillway-key', pressed, true);
    document.removeEventListener('keydown', typed, true);
    document.removeEventListener('click', clicked, true);
    window.removeEventListener('resize', place);
  });
  if (isOn()) {
    const begin = () => (page.is_idle ? show() : setTimeout(begin, 100));
    begin();
  }
  return document.createElement('span');
}
