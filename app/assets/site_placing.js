'use strict';
// Rectangles of an address map that are dragged up and down, or moved by arrow keys and typed
// addresses. Steps go from left to right, addresses from bottom to top.
const COLOURS = ['#0072B2', '#E69F00', '#009E73', '#CC79A7', '#56B4E9', '#B8A300', '#D55E00', '#777777'];
const WIDE = 900, HIGH = 460, LEFT = 70, RIGHT = 14, TOP = 14, BOTTOM = 34;
const SVG = 'http://www.w3.org/2000/svg';

function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// An editor of `places` (bytes, a stay each) within `budget`; `changed` hears of every move.
function placingEditor({ el }, { stays, places, budget, snap, changed }) {
  const steps = Math.max(...stays.map((stay) => stay.steps[1]), 1);
  const top = () => Math.max(...stays.map((stay, i) => places[i] + stay.size), 1);
  const live = Math.max(...stays.map((at) => stays.reduce((sum, { steps: [first, last], size }) =>
    sum + (first <= at.steps[0] && at.steps[0] < last ? size : 0), 0)));
  const most = () => {  // of a budget far above what is used a part is shown: room to move things
    const used = Math.max(top(), live);
    return 1.06 * (2 * used < budget ? 1.5 * used : Math.max(budget, used));
  };
  let scale = most();
  const x = (step) => LEFT + (step / steps) * (WIDE - LEFT - RIGHT);
  const y = (at) => HIGH - BOTTOM - (at / scale) * (HIGH - BOTTOM - TOP);
  const ground = svg('g'), drawn = svg('g');
  const hatch = svg('pattern', { id: 'wrong', width: 8, height: 8, patternUnits: 'userSpaceOnUse',
    patternTransform: 'rotate(45)' }, svg('rect', { width: 3, height: 8, fill: '#D55E00', opacity: 0.55 }));
  const picture = svg('svg', { viewBox: `0 0 ${WIDE} ${HIGH}`, role: 'group',
    'aria-label': 'address map: drag rectangles, or move them with arrow keys' },
  svg('defs', {}, hatch), ground, drawn);
  const inputs = stays.map((stay, i) => {
    const field = el('input', { value: String(places[i]), aria: { label: `address of ${stay.name}` } });
    field.onchange = () => {
      const size = field.value.trim() === '0' ? 0n : sizeOf(field.value);
      if (size === null || size > 2n ** 50n) field.setCustomValidity('bytes, or a size such as 8KiB');
      else {
        field.setCustomValidity('');
        move(i, Number(size));
      }
      field.reportValidity();
    };
    return field;
  });
  const list = el('table', {}, stays.map((stay, i) => el('tr', {},
    el('td', {}, stay.name), el('td', { className: 'number' }, bytesText(stay.size)),
    el('td', {}, inputs[i]))));

  function axes() {
    const lines = [];
    const unit = 2 ** Math.ceil(Math.log2(scale / 9));
    for (let at = 0; at <= scale; at += unit)
      lines.push(svg('line', { class: 'grid', x1: LEFT, x2: WIDE - RIGHT, y1: y(at), y2: y(at) }),
        words(LEFT - 6, y(at) + 4, bytesText(at), 'axis', 'end'));
    const every = Math.ceil(steps / 12);
    for (let step = 0; step < steps; step += every)
      lines.push(words((x(step) + x(step + 1)) / 2, HIGH - 14, String(step + 1), 'axis', 'middle'));
    const far = budget > scale, free = bytesText(Math.max(0, budget - top()));
    if (!far)
      lines.push(svg('line', { class: 'limit', x1: LEFT, x2: WIDE - RIGHT, y1: y(budget), y2: y(budget) }));
    lines.push(words(WIDE - RIGHT, (far ? TOP : y(budget)) - 4,
      far ? `↑ ${free} free above, up to the budget of ${bytesText(budget)}` : bytesText(budget), 'axis', 'end'),
      words(LEFT, HIGH - 2, 'step', 'axis', 'start'), words(4, TOP, 'address', 'axis', 'start'));
    ground.replaceChildren(...lines);
  }
  function words(left, top, text, cls, anchor) {
    const node = svg('text', { x: left, y: top, class: cls, 'text-anchor': anchor });
    node.textContent = text;
    return node;
  }
  function boxOf(i) {
    const { steps: [first, last], size } = stays[i];
    const top = y(places[i] + size);
    return { x: x(first), y: top, width: x(last) - x(first), height: y(places[i]) - top };
  }
  function draw() {
    axes();
    drawn.replaceChildren(...stays.map((stay, i) => {
      const box = svg('rect', { ...boxOf(i), class: 'stay', fill: COLOURS[i % COLOURS.length],
        tabindex: 0, role: 'slider', 'aria-label': stay.name, 'aria-valuemin': 0 });
      box.addEventListener('pointerdown', (event) => drag(event, i));
      box.addEventListener('keydown', (event) => key(event, i));
      const named = boxOf(i), text = words(named.x + 5, named.y + named.height / 2 + 4, stay.name, '', 'start');
      const shown = named.height > 13 && named.width > 8 * Math.min(stay.name.length, 4);
      if (stay.name.length * 7 > named.width) text.textContent = `${stay.name.slice(0, named.width / 8)}…`;
      return svg('g', {}, box, svg('rect', { ...boxOf(i), class: 'hatch', visibility: 'hidden' }),
        ...(shown ? [text] : []));
    }));
    tell();
  }
  function tell() {
    const { outside, colliding } = judgeStays(stays.map(({ steps: [start, stop], ...rest }) =>
      ({ start, stop, ...rest })), places, budget);
    const wrong = new Set([...outside, ...colliding.flat()]);
    [...drawn.children].forEach((group, i) => {
      const [box, marked] = group.children;
      box.classList.toggle('wrong', wrong.has(i));
      box.setAttribute('aria-valuenow', places[i]);
      box.setAttribute('aria-valuetext', `at ${bytesText(places[i])}${wrong.has(i) ? ', in the way' : ''}`);
      marked.setAttribute('visibility', wrong.has(i) ? 'visible' : 'hidden');
      if (inputs[i] !== document.activeElement) inputs[i].value = String(places[i]);
    });
    changed(places);
  }
  function move(i, at) {
    places[i] = Math.max(0, at);
    const grown = most();
    if (grown > scale || grown < scale * 0.7) scale = grown;
    const focused = [...drawn.children].findIndex((group) => group.firstChild === document.activeElement);
    draw();
    if (focused >= 0) drawn.children[focused].firstChild.focus();
  }
  // To an edge of another rectangle that is near, else to whole steps of `snap` bytes.
  function snapped(i, at) {
    const near = (7 / (HIGH - BOTTOM - TOP)) * scale, { size } = stays[i];
    const edges = [0, budget - size, ...stays.flatMap((other, k) =>
      (k === i ? [] : [places[k], places[k] + other.size, places[k] - size]))];
    const edge = edges.filter((place) => place >= 0)
      .reduce((best, place) => (Math.abs(place - at) < Math.abs(best - at) ? place : best), Infinity);
    return Math.abs(edge - at) < near ? edge : Math.max(0, Math.round(at / snap) * snap);
  }
  function drag(event, i) {
    event.preventDefault();
    const box = drawn.children[i].firstChild, from = places[i], began = event.clientY;
    const held = scale;
    box.focus();
    const toBytes = (pixels) => (pixels * (HIGH / picture.getBoundingClientRect().height)
      / (HIGH - BOTTOM - TOP)) * held;
    const moved = ({ clientY }) => {
      places[i] = snapped(i, from + toBytes(began - clientY));
      for (const rect of drawn.children[i].querySelectorAll('rect')) {
        const { y: top, height } = boxOf(i);
        rect.setAttribute('y', top);
        rect.setAttribute('height', height);
      }
      tell();
    };
    const done = () => {
      window.removeEventListener('pointermove', moved);
      window.removeEventListener('pointerup', done);
      move(i, places[i]);
      drawn.children[i].firstChild.focus();
    };
    window.addEventListener('pointermove', moved);
    window.addEventListener('pointerup', done);
  }
  function key(event, i) {
    const by = { ArrowUp: snap, ArrowDown: -snap, PageUp: 8 * snap, PageDown: -8 * snap }[event.key];
    if (!by) return;
    event.preventDefault();
    move(i, places[i] + by);
  }
  draw();
  return el('div', { className: 'placing' }, picture, el('div', { className: 'places box' }, list));
}
