'use strict';
// A plan's page without a server: one cursor, one selection. What follows the cursor does so by the
// explorer's own code (`follow.js`); everything else is told by the page's data.
(() => {
  const told = JSON.parse(document.getElementById('spillway-data').textContent);
  const by = (id) => document.getElementById(id);
  const { graph, together, films, book } = told;
  const view = {};
  let doc, scene = 0, region = told.region, step = told.step, selection = told.selection, dark;

  // ---- what is selected, as in the explorer ------------------------------------------------
  const KINDS = ['tensor:', 'operator:', 'group:', 'run:'];
  const kindOf = (key) => KINDS.find((kind) => key.startsWith(kind)) || '';
  const nameOf = (key) => key.slice(kindOf(key).length);
  const places = (names) => new Map(names.map((name, i) => [name, i]));
  const operatorAt = places(graph.operators), tensorAt = places(graph.tensors);
  const touching = graph.tensors.map(() => []);
  graph.operators.forEach((_, i) => {
    for (const t of new Set([...graph.writes[i], ...graph.reads[i], ...graph.parameters[i]]))
      touching[t].push(i);
  });

  function operatorsOf(key) {
    if (!key) return [];
    if (key.startsWith('tensor:')) return touching[tensorAt.get(nameOf(key))] || [];
    if (key.startsWith('operator:'))
      return operatorAt.has(nameOf(key)) ? [operatorAt.get(nameOf(key))] : [];
    const found = together.find((some) => some.key === key);
    return found ? found.operators : [];
  }
  function tensorsOf(key) {
    if (key.startsWith('tensor:')) return tensorAt.has(nameOf(key)) ? [nameOf(key)] : [];
    if (key.startsWith('group:')) return [];
    const found = operatorsOf(key).flatMap((i) => [...graph.reads[i], ...graph.writes[i]]);
    return [...new Set(found)].map((t) => graph.tensors[t]);
  }
  function outline(source, chosen, hits) {
    const data = source.data, columns = Object.keys(chosen.data);
    chosen.data = Object.fromEntries(
      columns.map((name) => [name, hits.map((i) => data[name][i])]));
  }
  const hitsIn = (values, wanted) =>
    Array.from(values, (value, i) => (wanted(value, i) ? i : -1)).filter((i) => i >= 0);

  function highlight() {
    const operators = new Set(operatorsOf(selection)), tensors = new Set(tensorsOf(selection));
    const names = new Set([...operators].map((i) => graph.operators[i]));
    const { members, along } = told.scenes[scene];
    outline(view.nodes, view.chosen_nodes,
      hitsIn(members, (some) => some.some((i) => operators.has(i))));
    outline(view.curves, view.chosen_curves,
      hitsIn(along, (some) => some.some((t) => tensors.has(graph.tensors[t]))));
    const on = new Set(tensors);
    const held = selection.startsWith('tensor:') ? tensorAt.get(nameOf(selection)) : undefined;
    if (held === undefined || told.is_parameter[held])
      for (const name of names) on.add(told.weights + name);
    outline(view.rects, view.chosen_rects, hitsIn(view.rects.data.tensor, (t) => on.has(t)));
    const lanes = view.lanes.data;
    outline(view.lanes, view.chosen_lanes, hitsIn(lanes.label,
      (label, i) => (lanes.kind[i] === 'operator' ? names : tensors).has(label)));
    const some = selection.startsWith('tensor:') ? []
      : hitsIn(together, (one) => one.operators.some((i) => operators.has(i)));
    if (view.bars) {
      view.chosen_bars.data = {
        left: some.map((k) => k + 0.08), right: some.map((k) => k + 0.92),
        top: some.map((k) => together[k].extent) };
    } else {
      outline(view.map_groups, view.chosen_map_groups, some);
      outline(view.lane_groups, view.chosen_lane_groups, some);
    }
    tables();
  }

  // ---- tables ------------------------------------------------------------------------------
  function fill(at, rows, isOn, head, empty) {
    by(at).replaceChildren(tableOf(rows, { head, empty, isOn, choose }));
  }
  function tables() {
    const tensors = new Set(tensorsOf(selection));
    const names = new Set(operatorsOf(selection).map((i) => graph.operators[i]));
    const inIt = (key) => key === selection || (key.startsWith('tensor:')
      ? tensors : names).has(nameOf(key));
    const known = wordsAt(told, step), not = 'left out of this file: see below';
    by('live-title').textContent = known ? known.title : 'live at the cursor';
    fill('live', known ? known.live : [], inIt, ['live at the cursor', 'bytes', 'address'],
      known ? 'nothing is on chip' : not);
    fill('story', known ? known.story : [], (key) => key === selection, [], not);
    fill('details', rowsOf(book, told.details[selection] || []), (key) => key === selection, [],
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
  }
  const toPeak = (direction) => goTo(nearest(told.peaks, step, direction));
  function toGroup() {
    if (!together.length) return;
    const at = together.findIndex((some, i) =>
      i + 1 === together.length || together[i + 1].step > step);
    const next = together[(at + (selection === together[at].key)) % together.length];
    select(next.key);
    goTo(next.step);
  }

  // ---- the selection -----------------------------------------------------------------------
  function select(key) {
    selection = key;
    highlight();
  }
  const choose = (key) => select(key === selection ? '' : key);
  function chooseOperator(name) {
    const first = graph.first[operatorAt.get(name)];
    choose(`operator:${name}`);
    if (first >= 0) goTo(first);
  }
  function chooseTogether(number) {
    choose(together[number].key);
    goTo(together[number].step);
  }
  function search(text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return;
    const found = (names, test) => names.find((name) => test(name.toLowerCase()));
    for (const test of [(name) => name === wanted, (name) => name.includes(wanted)]) {
      const operator = found(graph.operators, test), tensor = found(graph.tensors, test);
      if (operator !== undefined) { selection = ''; return chooseOperator(operator); }
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
  function dress(wanted) {
    dark = wanted;
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    for (const [id, properties] of Object.entries(told.colours)) {
      const model = doc.get_model_by_id(id);
      if (model) model.setv(Object.fromEntries(
        Object.entries(properties).map(([name, pair]) => [name, pair[dark ? 1 : 0]])));
    }
    document.querySelectorAll('.plot').forEach(wipe);
    by('theme').textContent = dark ? 'Light' : 'Dark';
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
  function tapped(source, act) {
    if (!source) return;
    source.selected.properties.indices.change.connect(() => {
      const [hit] = source.selected.indices;
      if (hit === undefined) return;
      source.selected.indices = [];
      act(hit);
    });
  }
  function listen() {
    tapped(view.rects, (i) => {
      const name = view.rects.data.tensor[i];
      if (name.startsWith(told.weights)) chooseOperator(name.slice(told.weights.length));
      else if (tensorAt.has(name)) choose(`tensor:${name}`);
    });
    tapped(view.wedges, (i) => choose(`tensor:${view.wedges.data.tensor[i]}`));
    tapped(view.lanes, (i) => {
      const { kind, label, step: of } = view.lanes.data;
      goTo(of[i] - 1);
      choose(`${kind[i]}:${label[i]}`);
    });
    tapped(view.nodes, (i) => {
      if (!view.nodes.data.is_block[i]) chooseOperator(view.nodes.data.title[i]);
      else if (told.scenes.length > 1) showScene(1);
    });
    tapped(view.frames, () => {});
    tapped(view.tabs, (i) => chooseTogether(view.tabs.data.group[i]));
    tapped(view.map_groups, chooseTogether);
    tapped(view.lane_groups, chooseTogether);
    for (const bars of [view.bars, view.between])
      tapped(bars, (i) => chooseTogether(bars.data.run[i]));
    for (const plot of [view.map_plot, view.held_plot])
      plot.on_event('tap', (event) => goTo(Math.floor(event.x)));
    by('cursor').oninput = (event) => goTo(Number(event.target.value));
    const press = (id, act) => { if (by(id)) by(id).onclick = act; };
    press('before', () => goTo(step - 1));
    press('after', () => goTo(step + 1));
    press('peak-before', () => toPeak(-1));
    press('peak-after', () => toPeak(1));
    press('theme', () => dress(!dark));
    press('blocks', () => showScene(1 - scene));
    press('save-plan', savePlan);
    press('copy-python', copyPython);
    press('keys', help);
    document.querySelectorAll('[data-region]').forEach((button, i) => {
      button.onclick = () => showRegion(i);
    });
    by('search').onchange = (event) => search(event.target.value);
    document.addEventListener('keydown', key);
  }
  function help() {
    by('help').open = true;
    by('help').scrollIntoView({ block: 'nearest' });
  }
  const KEYS = {
    ArrowLeft: () => goTo(step - 1), ArrowRight: () => goTo(step + 1),
    Home: () => goTo(0), End: () => goTo(told.steps - 1),
    '[': () => toPeak(-1), ']': () => toPeak(1), Escape: () => select(''),
    e: () => { if (told.scenes.length > 1) showScene(1 - scene); }, g: toGroup,
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
    wanted.addEventListener('change', () => { if (told.theme === 'auto') dress(wanted.matches); });
    highlight();
    goTo(step);
    document.documentElement.dataset.ready = 'yes';
  }
  start();
})();
