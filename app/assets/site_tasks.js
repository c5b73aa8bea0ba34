'use strict';
// Assignments answered here, and plans' rectangles placed by hand; both judged in the browser.
(() => {
  const { site, page, el, up, words, say, link, nameOf } = window.spillway;
  const main = document.getElementById('main');
  const verdict = el('p', { className: 'verdict', role: 'status' });
  function tell(passed, text) {
    verdict.dataset.passed = passed ? 'yes' : 'no';
    verdict.textContent = text;
  }
  function save(name, text) {
    const href = URL.createObjectURL(new Blob([text]));
    const anchor = el('a', { href, download: name });
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(href), 60000);
  }
  function button(text, act) {
    const node = el('button', { type: 'button' }, text);
    node.onclick = act;
    return node;
  }

  // ---- assignments -------------------------------------------------------------------------
  const tasks = window.spillwayTasks || [];
  let answer = null;
  function answered(task) {  // the answer in the address, else what there is to begin with
    try {
      return JSON.parse(words().get('answer')) || task.starter;
    } catch {
      return task.starter;
    }
  }
  function hand(task, next) {
    answer = next;
    const text = JSON.stringify(answer);
    say({ answer: text === JSON.stringify(task.starter) ? '' : text });
    const { passed, says } = judgeAnswer(task, answer);
    tell(passed, says);
  }
  function showTasks() {
    const task = tasks.find(({ name }) => name === words().get('task')) || tasks[0];
    document.title = `${task.title}: Spillway`;
    const list = el('ul', { className: 'tasks' }, tasks.map(({ name, title }, i) => el('li', {},
      link(`${i + 1}. ${title}`, 'tasks.html', { task: name },
        name === task.name ? { aria: { current: 'page' } } : {}))));
    const bounds = task.budget_bytes === null ? '' : `In ${bytesText(task.budget_bytes)} of ${task.machine}. `;
    main.replaceChildren(el('div', { className: 'task' }, el('nav', { aria: { label: 'assignments' } }, list),
      el('div', {}, el('h2', {}, task.title), el('p', { className: 'lead' }, task.text),
        el('p', {}, `${bounds}Passes what ${task.goals.map((goal) => goal.words).join(' and ')} at most.`),
        ...(task.answer === 'plan' ? planned(task) : written(task)))));
  }
  function written(task) {
    const editor = { addresses, order, moves }[task.answer];
    answer = answered(task);
    const file = el('input', { type: 'file', accept: '.json', aria: { label: 'open an answer' } });
    file.onchange = async () => {
      try {
        const opened = JSON.parse(await file.files[0].text());
        const found = judgeAnswer(task, opened);
        say({ answer: JSON.stringify(opened) });
        showTasks();
        tell(found.passed, found.says);
      } catch (error) {
        tell(false, `Not valid: ${file.files[0].name} is not JSON: ${error.message}`);
      }
    };
    const under = el('div', { className: 'bar' },
      button('Begin again', () => { say({ answer: '' }); showTasks(); }),
      button('Save the answer', () => save(`${task.name}.json`, JSON.stringify(answer, null, 1))),
      el('label', {}, 'Open an answer: ', file),
      el('span', { className: 'faint' }, el('code', {}, `spillway judge ${task.name} ${task.name}.json`)));
    const made = editor(task);
    return [verdict, made, under];
  }

  // Where each tensor is there: from when it is made or first read until it is last read.
  function staysOf({ tensors, operators }) {
    return tensors.map(({ name, size_bytes: size }) => {
      const used = operators.flatMap((op, k) => ([...op.inputs, ...op.outputs].includes(name) ? [k] : []));
      return { name, size, steps: [used[0] ?? 0, (used.at(-1) ?? 0) + 1] };
    });
  }
  function addresses(task) {
    const stays = staysOf(task.graph), given = (answer && answer.addresses) || {};
    const places = stays.map(({ name }) => {
      const at = Object.hasOwn(given, name) ? given[name] : 0;
      const size = typeof at === 'string' && at !== '0' ? sizeOf(at) : at;
      return Number.isSafeInteger(Number(size)) && Number(size) >= 0 ? Number(size) : 0;
    });
    const changed = (now) => hand(task,
      { addresses: Object.fromEntries(stays.map(({ name }, i) => [name, now[i]])) });
    return placingEditor({ el }, { stays, places, budget: task.budget_bytes, snap: 1024, changed });
  }
  function order(task) {
    const names = Array.isArray(answer && answer.order) ? answer.order.map(String)
      : [...task.starter.order];
    const uses = new Map(task.graph.operators.map((op) => [op.name, op]));
    const sizes = new Map(task.graph.tensors.map((t) => [t.name, bytesText(t.size_bytes)]));
    const list = el('ol', { className: 'order' });
    const swap = (i, k, way) => {
      if (k < 0 || k >= names.length) return;
      [names[i], names[k]] = [names[k], names[i]];
      show();
      list.children[k].querySelector(`.${way}`).focus();
    };
    function show() {
      list.replaceChildren(...names.map((name, i) => {
        const op = uses.get(name), up1 = button('↑', () => swap(i, i - 1, 'up'));
        const down = button('↓', () => swap(i, i + 1, 'down'));
        up1.className = 'up';
        down.className = 'down';
        up1.setAttribute('aria-label', `${name} earlier`);
        down.setAttribute('aria-label', `${name} later`);
        const told = op ? ` reads ${op.inputs.join(', ')}; makes ${op.outputs
          .map((t) => `${t}, ${sizes.get(t)}`).join(', ')}` : '';
        return el('li', {}, up1, down, el('b', {}, name), el('span', { className: 'faint' }, told));
      }));
      hand(task, { order: [...names] });
    }
    show();
    return list;
  }
  function moves(task) {
    const { graph } = task;
    const lines = Array.isArray(answer && answer.moves) ? answer.moves : task.starter.moves;
    const text = el('textarea', { value: lines.join('\n'), spellcheck: false, aria: { label: 'moves, one a line' } });
    text.oninput = () => hand(task, { moves: text.value.split('\n').filter((line) => line.trim()) });
    const sizes = el('p', { className: 'faint' }, `Tensors: ${graph.tensors.map((t) =>
      `${t.name} ${bytesText(t.size_bytes)}`).join(', ')}. Operators: ${graph.operators.map((op) =>
      `${op.name} (reads ${op.inputs.join(', ')})`).join(', ')}.`);
    hand(task, answer);
    return el('div', {}, sizes, text);
  }

  // A task that is answered with a plan: by one of the site's, or by the command.
  function planned(task) {
    const those = Object.entries(site.cells)
      .filter(([, cell]) => cell.verdicts && cell.verdicts[task.name]);
    const command = el('p', {}, 'Judge a plan of your own: ',
      el('code', {}, `spillway judge ${task.name} plan.json`));
    if (!those.length)
      return [el('p', {}, 'It is answered with a plan; none of this network is stored here.'), command];
    const list = el('select', { aria: { label: 'a stored plan' } }, el('option', { value: '' }, 'choose a plan'),
      those.map(([id, cell]) => el('option', { value: id, selected: id === words().get('with') },
        `${site.networks[cell.network].name}: ${nameOf(id)}`)));
    const seen = el('span');
    const show = () => {
      const cell = site.cells[list.value];
      say({ with: list.value });
      verdict.textContent = '';
      delete verdict.dataset.passed;
      seen.replaceChildren(...(cell ? [link('see this plan', cell.page)] : []));
      if (cell) tell(cell.verdicts[task.name].passed, cell.verdicts[task.name].says);
    };
    list.onchange = show;
    show();
    return [el('p', {}, 'Which of the stored plans passes? ', list, ' ', seen), verdict, command];
  }

  // ---- a plan's rectangles -------------------------------------------------------------------
  function showPlan() {
    const id = words().get('plan') || '', cell = Object.hasOwn(site.cells, id) ? site.cells[id] : null;
    if (!cell || !cell.stays) {
      main.replaceChildren(el('p', {}, 'Rectangles of these plans can be placed by hand:'),
        el('ul', {}, Object.entries(site.cells).filter(([, { stays }]) => stays).map(([name, { network }]) =>
          el('li', {}, link(`${site.networks[network].name}: ${nameOf(name)}`, 'place.html', { plan: name })))));
      return;
    }
    const script = el('script', { src: `${up}data/stays-${id}.js`, charset: 'utf-8',
      nonce: document.querySelector('script[nonce]').nonce });
    script.onload = () => place(id, cell, window.spillwayStays);
    document.head.append(script);
  }
  function place(id, cell, { stays, budget }) {
    const own = stays.map((stay) => stay.at), places = [...own];
    for (const part of (words().get('at') || '').split(',').filter(Boolean)) {
      const [i, at] = part.split(':').map(Number);
      if (Number.isInteger(i) && i in places && Number.isSafeInteger(at) && at >= 0) places[i] = at;
    }
    const changed = () => {
      say({ at: places.flatMap((at, i) => (at === own[i] ? [] : [`${i}:${at}`])).join(',') });
      const found = judgeStays(stays, places, budget);
      tell(found.valid, found.valid
        ? `Valid: no two tensors share a byte while both are on chip, nothing lies above ${bytesText(budget)}; `
          + `addresses up to ${bytesText(found.extent)}.` : faults(found));
    };
    function faults({ outside, colliding }) {
      const named = (i) => stays[i].name;
      const pairs = colliding.slice(0, 4).map(([a, b]) => `${named(a)} and ${named(b)} share bytes`);
      const over = outside.slice(0, 4).map((i) => `${named(i)} leaves the budget by `
        + `${bytesText(places[i] + stays[i].size - budget)}`);
      const rest = outside.length + colliding.length - pairs.length - over.length;
      return `Not valid: ${[...pairs, ...over, ...(rest ? [`${rest} more`] : [])].join('; ')}.`;
    }
    const again = button('As planned', () => {
      places.splice(0, places.length, ...own);
      show();
    });
    const csv = button('Save as CSV', () => save(`${id}.csv`, csvOf(stays, places)));
    function show() {
      main.replaceChildren(
        el('p', { className: 'lead' }, link(`${site.networks[cell.network].name}: ${nameOf(id)}`, cell.page),
          '. Each rectangle is a tensor on chip: drag it to another address, or type one.'),
        verdict, placingEditor({ el }, { stays, places, budget, snap: 64, changed }),
        el('div', { className: 'bar' }, again, csv,
          el('span', { className: 'faint' }, el('code', {}, `spillway audit ${id}.csv`))));
    }
    show();
  }

  // What `spillway audit` reads; a name that a spreadsheet would take for a formula is quoted.
  function csvOf(stays, places) {
    const seen = new Map(), cell = (text) => {
      const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
      return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
    };
    const lines = stays.map(({ name, steps, size }, i) => {
      const count = (seen.get(name) || 0) + 1;
      seen.set(name, count);
      return [cell(count > 1 ? `${name}#${count}` : name), ...steps, size, places[i]].join(',');
    });
    return `id,lower,upper,size,offset\n${lines.join('\n')}\n`;
  }

  const show = page === 'tasks' ? showTasks : showPlan;
  show();
  window.addEventListener('hashchange', show);
})();
