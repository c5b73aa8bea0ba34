'use strict';
// A judge of answers without a server, in the words of `spillway judge`, and of rectangles placed by
// hand. Plain functions over plain data: what `app/outputs/site/tasks.py` and `stays.py` write.
// Addresses are BigInts: they may be any that a machine can have.
const MOST_MOVES = 10000, MOST_LETTERS = 1000, LARGEST = 2n ** 63n - 1n;
const SPACE = '[\\s\\x1c-\\x1f\\x85]', SPACES = new RegExp(`${SPACE}+`, 'u');
const SIZE = new RegExp(`^${SPACE}*([0-9]+(?:[._][0-9]+)*)${SPACE}*([a-zA-Z]*)${SPACE}*$`, 'u');
const FACTORS = { '': 1n, b: 1n, kb: 10n ** 3n, mb: 10n ** 6n, gb: 10n ** 9n,
  kib: 2n ** 10n, mib: 2n ** 20n, gib: 2n ** 30n };
const UNITS = [['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10]];
const MEASURED = {
  noncompulsory_bytes: (words) => `moves ${words} more than what must move`,
  traffic_bytes: (words) => `moves ${words} over the bus`,
  peak_bytes: (words) => `peaks at ${words}`,
  extent_bytes: (words) => `uses addresses up to ${words}`,
  latency_s: (words) => `takes ${words}`,
};

// What is wrong with an answer, as a sentence.
class Wrong extends Error {}
const refuse = (text) => { throw new Wrong(shortened(text)); };
const letters = (text, most) => Array.from(text).slice(0, most).join('');
function shortened(text) {
  return Array.from(text).length <= MOST_LETTERS ? text : `${letters(text, MOST_LETTERS - 1)}…`;
}

// ---- values as the command line writes them --------------------------------------------------
function quoted(text) {
  const sign = text.includes("'") && !text.includes('"') ? '"' : "'";
  const named = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t', [sign]: `\\${sign}` };
  const one = (letter) => {
    if (named[letter]) return named[letter];
    if (letter === ' ' || !/[\p{C}\p{Z}]/u.test(letter)) return letter;
    const code = letter.codePointAt(0), hex = code.toString(16);
    if (code < 0x100) return `\\x${hex.padStart(2, '0')}`;
    return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
  };
  return sign + Array.from(text, one).join('') + sign;
}
function told(value) {
  if (typeof value === 'string') return quoted(value);
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(told).join(', ')}]`;
  if (typeof value !== 'object') return String(value);
  return `{${Object.entries(value).map(([k, v]) => `${quoted(k)}: ${told(v)}`).join(', ')}}`;
}
const textOf = (value) => (typeof value === 'string' ? value : told(value));
const bytesText = (count) => {
  const [unit, factor] = UNITS.find(([, least]) => Math.abs(count) >= least) || ['B', 1];
  return `${factor === 1 ? count : Number((count / factor).toPrecision(4))} ${unit}`;
};

// Bytes out of `8192`, `8KiB` or `1.5 MB`; null where a text is none.
function sizeOf(text) {
  const match = SIZE.exec(text), factor = match && FACTORS[match[2].toLowerCase()];
  if (!factor) return null;
  const [whole, part = '', more] = match[1].replaceAll('_', '').split('.');
  if (more !== undefined) return null;
  const below = 10n ** BigInt(part.length), times = BigInt(whole + part) * factor;
  if (times < below || times > LARGEST * below) return null;
  return factor === 1n && times % below ? null : times / below;
}
function addressOf(value) {
  const isNumber = Number.isInteger(value);
  if (!isNumber && typeof value !== 'string')
    refuse(`${letters(told(value), 60)} is not an address: write bytes, or a size such as 4KiB`);
  if (String(value) === '0') return 0n;
  const size = sizeOf(isNumber ? BigInt(value).toString() : value);
  return size === null ? refuse(`${letters(told(value), 60)} is not an address: write bytes, or 4KiB`)
    : size;
}

// ---- an answer as moves ----------------------------------------------------------------------
const named = (things) => new Map(things.map((thing) => [thing.name, thing]));
function tablesOf(graph) {
  const tensors = named(graph.tensors.map((t) => ({ ...t, size: BigInt(t.size_bytes) })));
  return { ...graph, tensors, index: named(graph.operators) };
}

// Moves that run operators in an order and keep each tensor on chip while it is needed.
function movesOfOrder(graph, order, addresses) {
  const names = order.map(textOf), seen = new Set(names);
  const unknown = names.find((name) => !graph.index.has(name));
  if (unknown !== undefined) refuse(`there is no operator ${letters(quoted(unknown), 60)}`);
  const twice = names.find((name, i) => names.indexOf(name) === i && names.lastIndexOf(name) !== i);
  if (twice !== undefined) refuse(`operator ${twice} comes twice`);
  const missing = graph.operators.find((op) => !seen.has(op.name));
  if (missing) refuse(`operator ${missing.name} is missing`);
  const at = addresses === undefined ? ownPlaces(graph) : givenPlaces(graph, addresses);
  const operators = names.map((name) => graph.index.get(name)), last = new Map();
  operators.forEach((op, k) => [...op.outputs, ...op.inputs].forEach((t) => last.set(t, k)));
  const there = new Set(), lines = [];
  operators.forEach((op, k) => {
    const comes = op.inputs.filter((t) => graph.inputs.includes(t) && !there.has(t));
    lines.push(...comes.map((t) => `load ${t} ${at.get(t)}`));
    lines.push(['run', op.name, ...op.outputs.map((t) => at.get(t))].join(' '));
    lines.push(...op.outputs.filter((t) => graph.outputs.includes(t)).map((t) => `store ${t}`));
    for (const t of [...comes, ...op.outputs]) there.add(t);
    lines.push(...[...new Set([...op.inputs, ...op.outputs])]
      .filter((t) => last.get(t) === k).map((t) => `drop ${t}`));
  });
  return lines;
}
function ownPlaces(graph) {
  const at = new Map();
  let place = 0n;
  for (const [name, { size }] of graph.tensors) {
    at.set(name, place);
    place += size;
  }
  return at;
}
function givenPlaces(graph, given) {
  const unknown = Object.keys(given).find((name) => !graph.tensors.has(name));
  if (unknown !== undefined) refuse(`there is no tensor ${letters(quoted(unknown), 60)}`);
  const names = [...graph.tensors.keys()];
  const missing = names.find((name) => !Object.hasOwn(given, name));
  if (missing !== undefined) refuse(`tensor ${missing} has no address`);
  return new Map(names.map((name) => [name, addressOf(given[name])]));
}

// ---- moves as a program ----------------------------------------------------------------------
function programOf(graph, lines) {
  if (lines.length > MOST_MOVES)
    refuse(`${lines.length.toLocaleString('en')} moves: write ${MOST_MOVES.toLocaleString('en')} at most`);
  const at = new Map(), items = [], ran = [];
  const known = (name) => graph.tensors.get(name)
    || refuse(`there is no tensor ${letters(quoted(name), 60)}`);
  const operand = (name) => ({ ...known(name), at: at.get(name) });
  const verbs = {
    load([name, address]) {
      known(name);
      if (at.has(name)) refuse(`${name} is on chip already, at ${at.get(name)}: drop it first`);
      at.set(name, addressOf(address));
      const step = Math.min(ran.length, graph.operators.length - 1);
      items.push({ verb: 'load', step, tensor: operand(name) });
    },
    run([name, ...addresses]) {
      const op = graph.index.get(name);
      if (!op) refuse(`there is no operator ${letters(quoted(name), 60)}`);
      const { length } = op.outputs;
      if (addresses.length !== length)
        refuse(`${name} makes ${op.outputs.join(', ')}: write ${length} address`
          + `${length > 1 ? 'es' : ''} after it`);
      const missing = op.inputs.find((t) => !at.has(t));
      if (missing !== undefined) refuse(`${name} reads ${missing}, which is not on chip`);
      const there = op.outputs.find((t) => at.has(t));
      if (there !== undefined) refuse(`${there} is on chip already, at ${at.get(there)}`);
      const places = addresses.map(addressOf);
      op.outputs.forEach((t, i) => at.set(t, places[i]));
      items.push({ verb: 'run', step: ran.length, writes: op.outputs.map(operand) });
      ran.push(name);
    },
    leave(verb, name) {
      known(name);
      if (!at.has(name)) refuse(`${name} is not on chip`);
      const step = Math.max(ran.length - 1, items.at(-1).step);
      items.push({ verb, step, tensor: operand(name) });
      if (verb === 'drop') at.delete(name);
    },
  };
  lines.forEach((line, i) => {
    const [verb, ...rest] = textOf(line).split(SPACES).filter(Boolean), { length } = rest;
    try {
      if (verb === 'load' && length === 2) verbs.load(rest);
      else if (verb === 'run' && length) verbs.run(rest);
      else if (['store', 'drop'].includes(verb) && length === 1) verbs.leave(verb, rest[0]);
      else refuse('write load TENSOR ADDRESS, run OPERATOR ADDRESS, store or drop TENSOR');
    } catch (error) {
      if (!(error instanceof Wrong)) throw error;
      refuse(`move ${i + 1} (${letters(quoted(textOf(line)), 80)}): ${error.message}`);
    }
  });
  return { items, steps: Math.max(ran.length, 1) };
}

// ---- the replay ------------------------------------------------------------------------------
// Which of the ranges `[at, at + size)` a range meets, the lowest; `taken` is in any order.
function clashWith(taken, at, size) {
  return taken.filter((other) => other.at < at + size && at < other.at + other.size)
    .reduce((lowest, other) => (!lowest || other.at < lowest.at ? other : lowest), null);
}
function replayed(graph, { items, steps }, memory, limit) {
  const resident = new Map(), home = new Set(graph.inputs);
  const computed = new Set(), fetched = new Set();
  const count = { loaded: 0n, stored: 0n, held: 0n, peak: 0n, extent: 0n };
  let step = 0, index = -1;
  const fail = (reason, at) => refuse(`step ${step + 1}, instruction ${index}`
    + `${at === undefined ? '' : `, ${memory.onchip}@0x${at.toString(16)}`}: ${reason}`);
  function place(tensor) {
    const { at, size, piece } = tensor, stop = at + size;
    if (stop > limit)
      fail(`[${at}, ${stop}) is out of range in ${memory.onchip} of ${limit} bytes`, at);
    const other = clashWith([...resident.values()], at, size);
    if (other)
      fail(`${piece} overwrites ${other.piece}, resident at [${other.at}, ${other.at + other.size})`, at);
    resident.set(tensor.name, tensor);
    count.held += size;
    if (stop > count.extent) count.extent = stop;
    if (count.held > count.peak) count.peak = count.held;
  }
  const act = {
    load({ tensor }) {
      if (!home.has(tensor.name)) fail(`${memory.offchip} holds no copy of ${tensor.piece}`);
      place(tensor);
      count.loaded += tensor.size;
      fetched.add(tensor);
    },
    run({ writes }) {
      for (const tensor of writes) {
        place(tensor);
        computed.add(tensor.name);
      }
    },
    store({ tensor }) {
      home.add(tensor.name);
      count.stored += tensor.size;
    },
    drop({ tensor }) {
      resident.delete(tensor.name);
      count.held -= tensor.size;
    },
  };
  for (const item of items) {
    index += 1;
    if (item.step < step || item.step >= steps)
      fail(`step ${item.step + 1} is out of order or unknown`);
    step = item.step;
    act[item.verb](item);
  }
  for (const op of graph.operators)
    for (const name of op.outputs)
      if (!computed.has(name)) fail(`operator ${op.name} never computed all of ${name}`);
  for (const name of graph.outputs)
    if (!home.has(name)) fail(`output ${name} is not whole in ${memory.offchip}`);
  return measuresOf(graph, count, fetched);
}
function measuresOf(graph, { loaded, stored, peak, extent }, fetched) {
  const sizes = new Map([...fetched].filter((t) => t.kind !== 'activation')
    .map((t) => [t.name, t.size]));
  const outputs = new Set(graph.outputs.filter((name) => !graph.inputs.includes(name)));
  const must = [...sizes.values(), ...[...outputs].map((name) => graph.tensors.get(name).size)]
    .reduce((sum, size) => sum + size, 0n);
  return { noncompulsory_bytes: Number(loaded + stored - must),
    traffic_bytes: Number(loaded + stored), peak_bytes: Number(peak), extent_bytes: Number(extent) };
}

// ---- verdicts --------------------------------------------------------------------------------
function linesOf(task, graph, answer) {
  if (answer === null || typeof answer !== 'object' || Array.isArray(answer))
    refuse('an answer is a JSON object with addresses, order or moves, or a plan');
  if (answer.format === 'spillway-plan') refuse('a plan is judged by the command: spillway judge');
  const given = ['addresses', 'order', 'moves'].filter((key) => Object.hasOwn(answer, key));
  if (given.length !== 1 || given[0] !== task.answer) {
    const wanted = task.answer === 'plan' ? 'a plan' : `'${task.answer}' or a plan`;
    refuse(`this task is answered with ${wanted}, not with ${given.join(', ') || '{}'}`);
  }
  const written = answer[task.answer], isList = Array.isArray(written);
  const isObject = written !== null && typeof written === 'object' && !isList;
  if (task.answer === 'addresses' ? !isObject : !isList)
    refuse(`'${task.answer}' is ${task.answer === 'addresses' ? 'an object' : 'a list'}`);
  if (task.answer === 'order') return movesOfOrder(graph, written);
  if (task.answer === 'moves') return written;
  return movesOfOrder(graph, graph.operators.map((op) => op.name), written);
}

// Whether an answer passes a task, and one sentence that says why, as `spillway judge` has it.
function judgeAnswer(task, answer) {
  const graph = tablesOf(task.graph);
  const all = [...graph.tensors.values()].reduce((sum, { size }) => sum + size, 0n);
  const limit = task.budget_bytes === null ? all : BigInt(task.budget_bytes);
  let measured;
  try {
    measured = replayed(graph, programOf(graph, linesOf(task, graph, answer)), task.memory, limit);
  } catch (error) {
    if (!(error instanceof Wrong)) throw error;
    return { assignment: task.name, passed: false, says: `Not valid: ${error.message}`, measured: {} };
  }
  const over = task.goals.filter((goal) => measured[goal.measure] > goal.most);
  const words = (over.length ? over : task.goals)
    .map(({ measure }) => MEASURED[measure](bytesText(measured[measure]))).join(' and ');
  const says = over.length
    ? `Valid, but it ${words}; at most ${bytesText(over[0].most)} is asked.` : `Passed: it ${words}.`;
  return { assignment: task.name, passed: !over.length, says, measured };
}

// What is wrong with rectangles placed by hand: pairs that share bytes while both are on chip, and
// those that leave the budget. A stay is `[start, stop)` of a plan's instructions; stop -1: to the end.
function judgeStays(stays, places, budget) {
  const end = (stay) => (stay.stop < 0 ? Infinity : stay.stop);
  const outside = [], colliding = [];
  stays.forEach((stay, i) => {
    const at = places[i];
    if (at < 0 || at + stay.size > budget) outside.push(i);
    for (let k = 0; k < i; k += 1) {
      const other = stays[k];
      if (other.start < end(stay) && stay.start < end(other)
          && places[k] < at + stay.size && at < places[k] + other.size) colliding.push([k, i]);
    }
  });
  const extent = stays.reduce((most, stay, i) => Math.max(most, places[i] + stay.size), 0);
  return { valid: !outside.length && !colliding.length, outside, colliding, extent };
}
