'use strict';
// A plan's page without a server: one cursor, one selection. Views follow both by the explorer's own
// code (`follow.js`, `select.js`); everything else is told by the page's data.
(() => {
  const told = JSON.parse(document.getElementById('spillway-data').textContent);
  const by = (id) => document.getElementById(id);
  const { graph, films, book } = told;
  const view = {}, plan = planOf(told);
  let marks = plan.marksOf(told.selection, []);
  let doc, scene = 0, region = told.region, step = told.step, selection = told.selection, dark;
  let chosenTheme = '', due = 0, led = false;  // led: moved by another page, not here

  // ---- tables ------------------------------------------------------------------------------
  function fill(at, rows, isOn, head, empty) {
    by(at).replaceChildren(tableOf(rows, { head, empty, isOn, choose }));
  }
  function tables() {
    const isSelected = (key) => key === selection;
    const known = wordsAt(told, step), not = 'left out of this file: see below';
    by('live-title').textContent = known ? known.title : 'live at the cursor';
    fill('live', known ? known.live : [], (key) => plan.isOn(key, selection, marks),
      ['live at the cursor', 'bytes', 'address'], known ? 'nothing is on chip' : not);
    fill('story', known ? known.story : [], isSelected, [], not);
    fill('details', rowsOf(book, told.details[selection] || []), isSelected, [],
      `${nameOf(selection)}: ${not}`);
  }

  // ---- the cursor --------------------------------------------------------------------------
  const playHere = (film, number) => play(film, number, (id) => doc.get_model_by_id(id));
  function goTo(wanted) {
    step = Math.max(0, Math.min(told.steps - 1, wanted));
    by('cursor').value = step;
    by('step').textContent = `Step ${step + 1} of ${told.steps}`;
    moveBands(view, step);
    bringIntoSight(view, step);
    playHere(films.step, step - told.first);
    tables();
    remember();
  }
  const toPeak = (direction) => goTo(nearest(told.peaks, step, direction));
  function toNext() {
    const next = plan.nextPart(step, selection);
    if (!next) return;
    select(next.key);
    goTo(next.step);
  }

  // ---- the selection -----------------------------------------------------------------------
  function select(key) {
    selection = key;
    highlight();
  }
  function highlight() {
    marks = plan.marksOf(selection, []);
    outline(view, plan, marks);
    tables();
    remember();
  }
  function choose(key) {
    select(key === selection ? '' : key);
    return true;
  }
  const acts = { choose, goTo, known: (act) => act(plan), close: () => {},
    open: () => { if (told.scenes > 1) showScene(1); } };
  function search(text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return;
    const found = (names, test) => names.find((name) => test(name.toLowerCase()));
    for (const test of [(name) => name === wanted, (name) => name.includes(wanted)]) {
      const operator = found(graph.operators, test), tensor = found(graph.tensors, test);
      if (operator !== undefined) {
        select(`operator:${operator}`);
        if (plan.firstOf(operator) >= 0) goTo(plan.firstOf(operator));
        return;
      }
      if (tensor !== undefined) return select(`tensor:${tensor}`);
    }
    by('live-title').textContent = `nothing is called ${text.trim()}`;
  }

  // ---- scenes, memories, light and dark ----------------------------------------------------
  function showScene(number) {
    scene = number;
    playHere(films.scene, scene);
    const button = by('blocks');
    if (button) button.setAttribute('aria-pressed', String(scene === 1));
    highlight();
    goTo(step);
  }
  function showRegion(number) {
    region = number;
    if (!films.region) return;
    playHere(films.region, region);
    document.querySelectorAll('[data-region]').forEach((button, i) =>
      button.setAttribute('aria-pressed', String(i === region)));
    highlight();
  }
  function dress(wanted, chosen) {
    dark = wanted;
    if (chosen) chosenTheme = dark ? 'dark' : 'light';
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    for (const [id, properties] of Object.entries(told.colours)) {
      const model = doc.get_model_by_id(id);
      if (model) model.setv(Object.fromEntries(
        Object.entries(properties).map(([name, pair]) => [name, pair[dark ? 1 : 0]])));
    }
    document.querySelectorAll('.plot').forEach(wipe);
    by('theme').textContent = dark ? 'Light' : 'Dark';
    remember();
  }
  function wipe(root) {  // of the former colours a hair would stay at the edges
    for (const node of root.querySelectorAll('*')) {
      const ink = node.tagName === 'CANVAS' && node.getContext('2d');
      if (ink) {
        ink.save();
        ink.setTransform(1, 0, 0, 1, 0, 0);
        ink.clearRect(0, 0, node.width, node.height);
        ink.restore();
      }
      if (node.shadowRoot) wipe(node.shadowRoot);
    }
  }

  // ---- the address: what is shown, so that a link restores it -------------------------------
  // Other words in it are left as they are. Who listens hears where the cursor is, and may move it.
  const shownNow = () => ({ step: step === told.step ? '' : String(step),
    selection: selection === told.selection ? '' : selection || 'none',
    blocks: scene ? '1' : '', memory: region === told.region ? '' : String(region),
    theme: chosenTheme });
  const wordsOf = () => new URLSearchParams(location.hash.slice(1));
  function remember() {
    clearTimeout(due);
    due = setTimeout(() => {
      const words = wordsOf();
      for (const [name, text] of Object.entries(shownNow()))
        if (text) words.set(name, text);
        else words.delete(name);
      const hash = words.size ? `#${words}` : '';
      if (hash !== location.hash)
        history.replaceState(null, '', hash || location.pathname + location.search);
      document.dispatchEvent(new CustomEvent('spillway-moved', { detail: { step, selection,
        operator: operatorAt(step), led } }));
      led = false;
    }, 60);
  }
  function operatorAt(at) {  // the one that was begun last
    const begun = graph.first.map((first, i) => [first, i]).filter(([first]) => first >= 0 && first <= at);
    return begun.length ? graph.operators[begun.sort(([a], [b]) => b - a)[0][1]] : '';
  }
  function recall() {
    const words = wordsOf(), now = shownNow();
    const said = (name) => words.get(name) || '';
    if (said('theme') !== now.theme && ['light', 'dark'].includes(said('theme')))
      dress(said('theme') === 'dark', true);
    if (said('blocks') !== now.blocks && told.scenes > 1) showScene(said('blocks') ? 1 : 0);
    const part = said('memory') ? Number(said('memory')) : told.region;
    if (part !== region && films.region && films.region.frames[part]) showRegion(part);
    if (said('selection') !== now.selection)
      select(said('selection') === 'none' ? '' : said('selection') || told.selection);
    const there = said('step') ? Number(said('step')) : told.step;
    if (Number.isInteger(there) && there !== step) goTo(there);
  }
  function go({ detail }) {
    const first = plan.firstOf(detail.operator || '');
    if (typeof detail.selection === 'string' && detail.selection !== selection)
      select(detail.selection);
    const there = first >= 0 && operatorAt(step) !== detail.operator ? first : detail.step;
    if (Number.isInteger(there) && there !== step) goTo(there);
    led = true;
    remember();
    if (detail.top > 0 && view.map_plot)
      for (const { y_range: range, center } of [view.map_plot, view.held_plot]) {
        const end = detail.top * (range === view.held_plot.y_range ? 1.28 : 1);  // words of the peak
        range.setv({ start: 0, end, reset_end: end });
        for (const mark of center)
          if (mark.tags[0] === 'far-limit') mark.visible = mark.tags[1] > end;
      }
  }

  // ---- what can be taken away --------------------------------------------------------------
  async function savePlan() {
    const packed = Uint8Array.from(atob(by('spillway-plan').textContent.trim()),
      (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    const link = document.createElement('a');
    link.href = URL.createObjectURL(await new Response(stream).blob());
    link.download = `${told.file}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }
  async function copyPython() {
    const code = by('code'), say = by('copied');
    code.closest('details').open = true;
    try {
      await navigator.clipboard.writeText(code.textContent);
      say.textContent = 'copied';
    } catch {
      getSelection().selectAllChildren(code);
      say.textContent = 'selected: copy it with the keyboard';
    }
  }

  // ---- listening ---------------------------------------------------------------------------
  function listen() {
    listenToTaps(view, acts);
    listenToPlaces(view, goTo);
    by('cursor').oninput = (event) => goTo(Number(event.target.value));
    const press = (id, act) => { if (by(id)) by(id).onclick = act; };
    press('before', () => goTo(step - 1));
    press('after', () => goTo(step + 1));
    press('peak-before', () => toPeak(-1));
    press('peak-after', () => toPeak(1));
    press('theme', () => dress(!dark, true));
    press('blocks', () => showScene(1 - scene));
    press('save-plan', savePlan);
    press('copy-python', copyPython);
    press('keys', help);
    document.querySelectorAll('[data-region]').forEach((button, i) => {
      button.onclick = () => showRegion(i);
    });
    by('search').onchange = (event) => search(event.target.value);
    document.addEventListener('keydown', key);
    document.addEventListener('spillway-go', go);
    window.addEventListener('hashchange', recall);
  }
  function help() {
    by('help').open = true;
    by('help').scrollIntoView({ block: 'nearest' });
  }
  const KEYS = {
    ArrowLeft: () => goTo(step - 1), ArrowRight: () => goTo(step + 1),
    Home: () => goTo(0), End: () => goTo(told.steps - 1),
    '[': () => toPeak(-1), ']': () => toPeak(1), Escape: () => select(''),
    e: () => { if (told.scenes > 1) showScene(1 - scene); }, g: toNext,
    '/': () => { by('search').focus(); by('search').select(); }, '?': help,
  };
  function key(event) {
    const at = event.target, typing = at.tagName === 'INPUT' && at.type !== 'range';
    if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
    if (typing && event.key !== 'Escape') return;
    if (typing) at.blur();
    event.preventDefault();
    KEYS[event.key]();
  }

  function start() {
    doc = window.Bokeh && Bokeh.documents[0];
    const ids = Object.entries(told.models);
    if (!doc || !doc.roots().length || ids.some(([, id]) => !doc.get_model_by_id(id))) {
      setTimeout(start, 15);
      return;
    }
    for (const [name, id] of ids) view[name] = doc.get_model_by_id(id);
    listen();
    const wanted = matchMedia('(prefers-color-scheme: dark)');
    dress(told.theme === 'auto' ? wanted.matches : told.theme === 'dark');
    wanted.addEventListener('change', () => {
      if (told.theme === 'auto' && !chosenTheme) dress(wanted.matches);
    });
    const asked = location.hash;
    highlight();
    goTo(step);
    if (asked) recall();
    document.documentElement.dataset.ready = 'yes';
  }
  start();
})();
