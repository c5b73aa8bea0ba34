// What a selection is, which taps select what, and what is outlined, in the explorer and in a page
// without a server. `view` has the models by their names; `plan` is what `planOf` makes of the tables
// of `app/views/cursor/plan_tables.py`.
const STRIPS = 12;  // outlined rectangles: more are dimmed, or their lines would cover all the colour
const ACROSS = 530;  // pixels of the time axis, roughly, before it is laid out
const TENSOR = 'tensor:', OPERATOR = 'operator:', RUN = 'run:';

const nameOf = (key) => key.slice(key.indexOf(':') + 1);

// Numbers out of a column's text, `0-3 7`; each column is read once.
const columnsRead = new WeakMap();
function numbersIn(column) {
  if (!columnsRead.has(column)) columnsRead.set(column, Array.from(column, (text) =>
    text.split(' ').filter(Boolean).flatMap((part) => {
      const [first, last = first] = part.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, i) => first + i);
    })));
  return columnsRead.get(column);
}

function planOf({ graph, together, waits, weights }) {
  const places = (names) => new Map(names.map((name, i) => [name, i]));
  const operatorAt = places(graph.operators), tensorAt = places(graph.tensors);
  const parts = new Map(together.map((part) => [part.key, part]));
  const touching = graph.tensors.map(() => []);
  graph.operators.forEach((_, i) => {
    for (const t of new Set([...graph.writes[i], ...graph.reads[i], ...graph.parameters[i]]))
      touching[t].push(i);
  });
  const placed = (at) => (at === undefined ? [] : [at]);

  function operatorsOf(key) {
    if (key.startsWith(TENSOR)) return touching[tensorAt.get(nameOf(key))] || [];
    if (key.startsWith(OPERATOR)) return placed(operatorAt.get(nameOf(key)));
    if (key.startsWith(RUN))
      return nameOf(key).split('+').flatMap((name) => placed(operatorAt.get(name)));
    return parts.has(key) ? parts.get(key).operators : [];
  }
  function tensorsOf(key) {
    if (key.startsWith(TENSOR)) return placed(tensorAt.get(nameOf(key)));
    if (!key.startsWith(OPERATOR) && !key.startsWith(RUN)) return [];
    return [...new Set(operatorsOf(key).flatMap((i) => [...graph.reads[i], ...graph.writes[i]]))];
  }
  // What is marked: of a selection, or, where nothing is selected, tensors that sentences name.
  function marksOf(key, spoken) {
    const named = spoken.map((name) => tensorAt.get(name)).filter((at) => at !== undefined);
    const operators = new Set(operatorsOf(key)), tensors = new Set(key ? tensorsOf(key) : named);
    const names = new Set([...operators].map((i) => graph.operators[i]));
    const tensorNames = new Set([...tensors].map((t) => graph.tensors[t]));
    const rectangles = new Set(tensorNames);
    const held = key.startsWith(TENSOR) ? tensorAt.get(nameOf(key)) : undefined;
    if (held === undefined || graph.is_parameter[held])
      for (const name of names) rectangles.add(weights + name);
    const some = together.flatMap((part, k) =>
      (part.operators.some((i) => operators.has(i)) ? [k] : []));
    return { operators, tensors, names, tensorNames, rectangles, runs: some,
      groups: key.startsWith(TENSOR) ? [] : some };
  }
  // Whether a row of a table is of what is selected.
  function isOn(key, selection, marks) {
    if (key === selection) return true;
    return (key.startsWith(TENSOR) ? marks.tensorNames : marks.names).has(nameOf(key));
  }
  // The part at the cursor, or the one after it where that is selected; or the next that waits.
  function nextPart(step, selection) {
    if (waits.length) return waits.find((wait) => wait.step > step) || waits[0];
    const here = together.findLastIndex((part) => part.step <= step);
    if (here < 0) return null;
    return together[(here + (together[here].key === selection)) % together.length];
  }
  const firstOf = (name) => (operatorAt.has(name) ? graph.first[operatorAt.get(name)] : -1);
  return { graph, together, weights, operatorAt, tensorAt, marksOf, isOn, nextPart, firstOf };
}

// ---- outlines ------------------------------------------------------------------------------
// A figure that is not on the page yet, or never, has no source of outlines either.
function fillWith(source, columns) {
  const [first] = Object.values(columns);
  if (first.length || Object.values(source.data)[0].length) source.data = columns;
}
function withoutOutlines(view) {  // what is outlined belongs to a plan that is no longer there
  for (const [name, source] of Object.entries(view))
    if (name.startsWith('chosen_') && source)
      fillWith(source, Object.fromEntries(Object.keys(source.data).map((column) => [column, []])));
}
function copyRows(source, chosen, hits) {
  const { data } = source;
  fillWith(chosen, Object.fromEntries(
    Object.keys(chosen.data).map((name) => [name, hits.map((i) => data[name][i])])));
}
const hitsIn = (values, wanted) =>
  Array.from(values, (value, i) => (wanted(value, i) ? i : -1)).filter((i) => i >= 0);

function outlineGraph(view, marks) {
  if (!view.chosen_nodes || !view.chosen_curves) return;
  const { members } = view.nodes.data, { along } = view.curves.data;
  copyRows(view.nodes, view.chosen_nodes,
    hitsIn(numbersIn(members), (some) => some.some((i) => marks.operators.has(i))));
  copyRows(view.curves, view.chosen_curves,
    hitsIn(numbersIn(along), (some) => some.some((t) => marks.tensors.has(t))));
}

// Rectangles as they are drawn, or, of tensors whose pieces are merged in the drawing, as they are.
function outlineMap(view, { rectangles }) {
  if (!view.chosen_rects) return;
  const { data } = view.rects, found = { left: [], right: [], bottom: [], top: [] };
  const merged = view.pieces ? view.pieces.data : { tensor: [] }, apart = new Set(merged.tensor);
  const take = (from, wanted) => {
    for (const i of hitsIn(from.tensor, wanted))
      for (const side of Object.keys(found)) found[side].push(from[side][i]);
  };
  take(data, (name) => rectangles.has(name) && !apart.has(name));
  take(merged, (name) => rectangles.has(name));
  const count = found.left.length, many = count > STRIPS;
  fillWith(view.chosen_rects, { ...found, width: Array(count).fill(many ? 0.4 : 2.5),
    alpha: Array(count).fill(many ? 0.35 : 0) });
}

// Bars, those that are narrow and closely follow one another as one: outlines would hide them.
function outlineLanes(view, { names, tensorNames }) {
  if (!view.chosen_lanes) return;
  const { label, kind, lane, left, right } = view.lanes.data;
  const { start, end } = view.lanes_range, pixel = (end - start) / ACROSS;
  const bars = hitsIn(label, (name, i) => (kind[i] === 'operator' ? names : tensorNames).has(name))
    .sort((i, j) => (lane[i] === lane[j] ? left[i] - left[j] : lane[i] < lane[j] ? -1 : 1));
  const joined = { lane: [], left: [], right: [] };
  for (const i of bars) {
    const last = joined.lane.length - 1;
    if (last >= 0 && joined.lane[last] === lane[i] && left[i] - joined.right[last] < 2 * pixel
        && right[i] - left[i] < 8 * pixel) {
      joined.right[last] = Math.max(joined.right[last], right[i]);
    } else {
      for (const [name, from] of [['lane', lane], ['left', left], ['right', right]])
        joined[name].push(from[i]);
    }
  }
  fillWith(view.chosen_lanes, joined);
}

function outlineParts(view, plan, { groups, runs }) {
  for (const name of ['map_groups', 'lane_groups'])
    if (view[`chosen_${name}`])
      copyRows(view[name], view[`chosen_${name}`],
        groups.filter((k) => k < view[name].data.left.length));
  if (view.chosen_bars)
    fillWith(view.chosen_bars, { left: runs.map((k) => k + 0.08), right: runs.map((k) => k + 0.92),
      top: runs.map((k) => plan.together[k].extent) });
}

function outline(view, plan, marks) {
  outlineGraph(view, marks);
  outlineMap(view, marks);
  outlineLanes(view, marks);
  outlineParts(view, plan, marks);
}

// ---- taps ----------------------------------------------------------------------------------
// Of what lies under one tap, what comes first here acts alone. `acts` are what the page does:
// `choose` (whether it did), `goTo`, `open` and `close` a block, and `known`, which hands on the plan.
function tapsOf(view, acts) {
  const chooseTensor = (name) => acts.known((plan) => {
    if (name.startsWith(plan.weights)) acts.choose(OPERATOR + name.slice(plan.weights.length));
    else if (plan.tensorAt.has(name)) acts.choose(TENSOR + name);
  });
  const part = (number) => acts.known(({ together }) => {
    if (!together[number]) return;
    acts.choose(together[number].key);
    acts.goTo(together[number].step);
  });
  const operator = (name) => acts.known((plan) => {
    if (acts.choose(OPERATOR + name) && plan.firstOf(name) >= 0) acts.goTo(plan.firstOf(name));
  });
  const bar = ({ kind, label, step }, i) => acts.known((plan) => {
    const [known, start] = kind[i] === 'operator'
      ? [plan.operatorAt, OPERATOR] : [plan.tensorAt, TENSOR];
    acts.goTo(step[i] - 1);
    if (known.has(label[i])) acts.choose(start + label[i]);
  });
  const column = (source, name, act) => (hits) => act(source.data[name][hits[0]]);
  const { tabs, nodes, frames, map_groups, rects, wedges, lanes, lane_groups, bars, between } = view;
  return [
    [tabs, () => column(tabs, 'group', part)],
    [nodes, () => ([i]) => (nodes.data.is_block[i] ? acts.open : operator)(nodes.data.title[i])],
    [frames, () => (hits) => acts.close(frames.data.block[hits.at(-1)])],
    [map_groups, () => ([k]) => part(k)],
    [rects, () => column(rects, 'tensor', chooseTensor)],
    [wedges, () => column(wedges, 'tensor', chooseTensor)],
    [lane_groups, () => ([k]) => part(k)],
    [lanes, () => ([i]) => bar(lanes.data, i)],
    [bars, () => column(bars, 'run', part)],
    [between, () => column(between, 'run', part)],
  ].filter(([source]) => source).map(([source, act]) => [source, act()]);
}

const listened = new WeakSet();
function listenToTaps(view, acts) {
  const taps = tapsOf(view, acts), hits = new Map();
  const act = () => {
    const first = taps.find(([source]) => hits.has(source)), found = first && hits.get(first[0]);
    hits.clear();
    if (first) first[1](found);
  };
  for (const [source] of taps) {
    if (listened.has(source)) continue;
    listened.add(source);
    source.selected.properties.indices.change.connect(() => {
      const { indices } = source.selected;
      if (!indices.length) return;
      source.selected.indices = [];  // outlines are drawn apart
      if (!hits.size) queueMicrotask(act);
      hits.set(source, indices);
    });
  }
}
