// The explorer's cursor. It moves here and now; the server hears of it when it has paused, and sends
// pages: the words of the steps around it, and films of the figures that change with each.
const PAUSE_MS = 300, MARGIN = 48;
const LATER = ['times', 'time_band'];  // of a figure that may not be on the page yet

async function unpacked(bytes) {
  const text = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(text).json();
}

export function render({ model, view }) {
  const page = view.model.document, named = (name) => page.get_model_by_id(model.models[name]);
  const seen = {}, followed = new Map();
  let pages = null, step = model.step, known = step, due = 0, asked = null, count = 0;

  const report = () => {
    clearTimeout(due);
    due = 0;
    if (known !== step) model.send_msg({ step });
    known = step;
  };
  const reportSoon = () => { if (!due) due = setTimeout(report, PAUSE_MS); };
  function ask() {
    if (!pages) return;
    const stop = pages.first + pages.title.length;
    const before = pages.first > 0 && step - pages.first < MARGIN;
    const behind = stop < pages.steps && stop - step <= MARGIN;
    if (!(before || behind)) return;
    if (asked && asked.pages === pages && Math.abs(asked.step - step) < MARGIN) return;
    asked = { pages, step };
    model.send_msg({ pages: step });
  }
  function tell() {
    const words = pages ? wordsAt(pages, step) : null;
    const now = pages && `<span class="now">${model.word} <b>${step + 1}</b> of ${pages.steps}</span>`;
    const detail = { page, now, selected: model.selected, chosen: model.chosen, ...words };
    document.dispatchEvent(new CustomEvent('spillway-step', { detail }));
  }
  function show(sight) {
    for (const name of Object.keys(model.models)) seen[name] = named(name);
    if (Object.keys(seen).some((name) => !seen[name] && !LATER.includes(name))) return;
    for (const name of ['times', 'where', 'slider']) follow(seen[name], name);
    if (seen.slider.value !== step) seen.slider.value = step;
    moveBands(seen, step);
    if (sight) bringIntoSight(seen, step);
    if (pages) play(pages.film, step - pages.first, (id) => page.get_model_by_id(id));
    tell();
  }
  function follow(source, name) {
    if (!source || followed.has(source)) return;
    const { value, data } = source.properties;
    const act = name === 'slider' ? () => goTo(Math.round(source.value)) : () => show(false);
    (value || data).change.connect(act);
    followed.set(source, true);
  }
  function goTo(wanted) {
    const last = pages ? pages.steps - 1 : wanted;
    const to = Math.max(0, Math.min(last, wanted));
    if (to === step) return;
    step = to;
    show(true);
    ask();
    reportSoon();
  }
  const near = (steps, direction) => steps && nearest(steps, step, direction);
  const STEPS = {
    ArrowLeft: () => step - 1, ArrowRight: () => step + 1,
    Home: () => 0, End: () => pages.steps - 1,
    '[': () => near(pages.peaks, -1), ']': () => near(pages.peaks, 1), n: () => near(pages.moves, 1),
  };
  const BUTTONS = { 'peak-before': '[', 'step-before': 'ArrowLeft', 'step-after': 'ArrowRight',
    'peak-after': ']', 'next-event': 'n' };

  async function turn() {  // other pages have come
    const number = ++count;
    if (!model.pages) return;
    const next = await unpacked(model.pages);
    if (number !== count) return;
    const first = next.plan !== (pages && pages.plan);
    pages = next;
    if (first) step = known = next.step;
    show(first);
    setTimeout(ask, PAUSE_MS);
  }
  function pressed(event) {  // a key of the page's: cancelled where it moved the cursor
    if (event.detail.page !== page) return;
    if (move(event.detail.key)) event.preventDefault();
    else report();  // the server needs to know where the cursor is
  }
  function move(key) {
    const to = pages && STEPS[key] ? STEPS[key]() : null;
    if (to !== null) goTo(to);
    return to !== null;
  }
  function clicked(event) {
    const classes = event.composedPath().flatMap((on) => [...(on.classList || [])]);
    const button = classes.find((name) => BUTTONS[name]);
    if (button && !move(BUTTONS[button])) model.send_msg({ key: BUTTONS[button] });
  }
  const listening = { 'spillway-key': pressed, 'spillway-hello': tell, click: clicked,
    pointerdown: report, 'spillway-more': () => show(false) };
  for (const [name, act] of Object.entries(listening)) document.addEventListener(name, act, true);
  model.on('remove', () => {
    for (const [name, act] of Object.entries(listening))
      document.removeEventListener(name, act, true);
  });
  model.on('pages', turn);
  model.on(['selected', 'chosen'], tell);
  model.on('step', () => {
    if (model.step === known) return;  // the server repeats what it was told, which may be old
    step = known = model.step;
    show(true);
    ask();
  });
  turn();
  return document.createElement('span');
}
