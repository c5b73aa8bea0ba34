// The explorer's cursor and selection. They move here and now; the server hears of it when they have
// paused, and sends pages: the words of the steps around the cursor, and films of the figures that
// change with each; and of each plan, once it is on screen, which operators and tensors belong together.
const PAUSE_MS = 300, MARGIN = 48;
const COMING_MS = 1000;  // from a plan's figures to its pages, at most
const NEEDED = ['map_band', 'held_band', 'edges', 'slider'];
const OUTLINED = ['nodes', 'curves', 'rects', 'pieces', 'lanes', 'map_groups', 'lane_groups', 'bars'];

async function unpacked(bytes) {
  const text = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(text).json();
}

export function render({ model, view }) {
  const page = view.model.document;
  const seen = {}, below = {}, followed = new Set();
  const known = { step: model.step, selection: model.selected };  // by the server
  let turned = null, pages = null, plan = null, pinned = null, marks = null, marked = '';
  let step = known.step, selection = known.selection, tapped = false;
  let due = 0, said = model.heard, asked = null, wanted = 0, waiting = [], stale = false;

  // ---- what the server hears ---------------------------------------------------------------
  const report = () => {
    clearTimeout(due);
    due = 0;
    const news = {};
    if (known.step !== step) news.step = step;
    if (known.selection !== selection) Object.assign(news, { selection, tapped });
    if (!Object.keys(news).length) return;
    Object.assign(known, { step, selection });
    tapped = false;
    model.send_msg({ ...news, plan: pages ? pages.plan : 0, said: ++said });
  };
  const reportSoon = () => { if (!due) due = setTimeout(report, PAUSE_MS); };
  const tellServer = (message) => { report(); model.send_msg(message); };
  function take() {  // what the server decided, once it has heard all that was said
    if (model.heard !== said) return;
    const moved = known.step !== model.step, other = known.selection !== model.selected;
    if (moved) step = known.step = model.step;
    if (other) selection = known.selection = model.selected;
    if (moved || other) show(moved);
    if (moved) ask();
  }
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
  function want() {  // the plan's tables, once
    if (!pages || wanted === pages.plan) return;
    wanted = pages.plan;
    model.send_msg({ tables: wanted });
  }
  const here = () => (plan && pages && plan.number === pages.plan ? plan : null);
  const ready = () => here() && model.pages === turned;  // else figures may be of the next plan
  function attend() { if (ready()) for (const { act } of waiting.splice(0)) act(plan); }
  function whenKnown(act) {
    if (ready()) return act(plan);
    waiting.push({ act, at: performance.now() });
    want();
  }

  // ---- what is seen ------------------------------------------------------------------------
  function find() {
    for (const [names, found] of [[model.models, seen], [model.below, below]]) {
      for (const name of Object.keys(found)) delete found[name];
      for (const [name, id] of Object.entries(names)) found[name] = page.get_model_by_id(id);
    }
    for (const name of ['times', 'edges', 'where', 'slider']) follow(seen[name], name);
    for (const found of [seen, below])
      for (const name of OUTLINED) follow(found[name], 'outlined');
    if (seen.map_plot && !followed.has(seen.map_plot)) {
      followed.add(seen.map_plot);
      listenToPlaces(seen, goTo);
    }
    listenToTaps(seen, acts);
    listenToTaps(below, actsBelow);
  }
  function follow(source, name) {
    if (!source || followed.has(source)) return;
    const { value, data } = source.properties, moved = () => goTo(Math.round(source.value));
    const act = { slider: moved, outlined: markSoon }[name] || (() => show(false));
    (value || data).change.connect(act);
    followed.add(source);
  }
  function markSoon() {  // other rows have come, mostly of several figures at once
    if (!stale) queueMicrotask(() => { stale = false; mark(true); });
    stale = true;
  }
  function mark(anew) {
    const told = here(), spoken = (!selection && pages && pages.spoken
      && pages.spoken[step - pages.first]) || [];
    const now = JSON.stringify([told && told.number, pinned && pinned.number, selection, spoken]);
    if (marked === now && !anew) return;
    marked = now;
    if (!told && (selection || spoken.length)) want();
    marks = told && told.marksOf(selection, spoken);
    if (marks) outline(seen, told, marks);
    else withoutOutlines(seen);
    if (pinned) outline(below, pinned, pinned.marksOf(selection, []));
  }
  const isOn = (key) => (marks && here() ? plan.isOn(key, selection, marks) : key === selection);
  function tell() {
    const words = pages ? wordsAt(pages, step) : null;
    const now = pages && `<span class="now">${model.word} <b>${step + 1}</b> of ${pages.steps}</span>`;
    const detail = { page, now, selection, isOn, ...words };
    document.dispatchEvent(new CustomEvent('spillway-step', { detail }));
  }
  function show(sight) {
    find();
    if (NEEDED.some((name) => !seen[name])) return;
    if (seen.slider.value !== step) seen.slider.value = step;
    moveBands(seen, step);
    if (sight) bringIntoSight(seen, step);
    if (pages) play(pages.film, step - pages.first, (id) => page.get_model_by_id(id));
    mark(false);
    tell();
  }

  // ---- the cursor --------------------------------------------------------------------------
  function goTo(there) {
    const last = pages ? pages.steps - 1 : there;
    const to = Math.max(0, Math.min(last, there));
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

  // ---- the selection -----------------------------------------------------------------------
  function select(key) {
    selection = key;
    show(false);
    reportSoon();
  }
  function choose(key) {  // a second tap takes it away; whether it was not for a wish
    if (model.picking) {
      tellServer({ tap: key });
      return false;
    }
    tapped = true;
    select(key === selection ? '' : key);
    return true;
  }
  const acts = { choose, goTo, known: whenKnown, open: (block) => tellServer({ open: block }),
    close: (block) => tellServer({ close: block }) };
  const actsBelow = { choose, goTo: () => {}, 
    known: (act) => pinned && act({ ...pinned, together: [] }) };
  function toNext() {
    whenKnown(() => {
      const next = plan.nextPart(step, selection);
      if (!next) return;
      select(next.key);
      goTo(next.step);
    });
    return true;
  }
  function clear() {  // the server first gives up what it waits for
    if (model.picking || model.refused) return false;
    select('');
    return true;
  }

  // ---- listening ---------------------------------------------------------------------------
  async function turn() {  // other pages have come
    const bytes = model.pages;
    if (!bytes || !bytes.byteLength) return;
    const next = await unpacked(bytes);
    if (bytes !== model.pages) return;
    const first = next.plan !== (pages && pages.plan);
    pages = next;
    turned = bytes;
    if (first) {
      step = known.step = next.step;
      const late = performance.now() - COMING_MS;  // what came later was meant for this plan
      waiting = waiting.filter(({ at }) => at > late);
    }
    show(first);
    if (first) take();  // it may have gone on since these were written
    attend();
    setTimeout(ask, PAUSE_MS);
    if (first) setTimeout(want, PAUSE_MS);
  }
  async function learn() {  // the tables of the plan on screen have come
    const bytes = model.tables;
    if (!bytes || !bytes.byteLength) return;
    const told = await unpacked(bytes);
    if (bytes !== model.tables) return;
    plan = { ...planOf(told), number: told.plan };
    show(false);
    attend();
  }
  async function learnBelow() {
    const bytes = model.pinned;
    if (!bytes || !bytes.byteLength) return;
    const told = await unpacked(bytes);
    if (bytes !== model.pinned) return;
    pinned = { ...planOf(told), number: told.plan };
    find();
    mark(true);
  }
  function pressed(event) {  // a key of the page's: cancelled where nothing is left to the server
    const { key } = event.detail;
    if (event.detail.page !== page) return;
    if (move(key) || (key === 'g' && toNext()) || (key === 'Escape' && clear()))
      event.preventDefault();
    else report();  // the server needs to know where the cursor is, and what is selected
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
    'spillway-choose': ({ detail }) => { if (detail.page === page) choose(detail.key); },
    pointerdown: report, keydown: ({ key }) => { if (key === 'Enter') report(); },
    'spillway-more': () => { show(false); mark(true); } };
  for (const [name, act] of Object.entries(listening)) document.addEventListener(name, act, true);
  model.on('remove', () => {
    for (const [name, act] of Object.entries(listening))
      document.removeEventListener(name, act, true);
  });
  model.on('pages', turn);
  model.on('tables', learn);
  model.on('pinned', learnBelow);
  model.on(['models', 'below'], () => { find(); mark(true); });
  model.on(['step', 'selected', 'heard'], take);
  turn();
  learn();
  learnBelow();
  return document.createElement('span');
}
