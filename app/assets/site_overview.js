'use strict';
// The index of a site and the pages of its networks: tables of planners and budgets, fronts.
(() => {
  const { site, page, of, el, link, open, words, say, cellsOf, nameOf, themed, tourLink } = window.spillway;
  const main = document.getElementById('main');
  const MEASURES = ['latency', 'traffic', 'peak', 'energy'];
  let measure = MEASURES.includes(words().get('measure')) ? words().get('measure') : 'latency';

  // ---- a table of planners and budgets ------------------------------------------------------
  const unique = (items) => [...new Set(items)];
  function tableOf(network, withChoice) {
    const cells = cellsOf(network).map((id) => ({ id, ...site.cells[id] }));
    const budgets = unique([...cells].sort((a, b) => a.bytes - b.bytes).map((cell) => cell.budget));
    const rows = unique(cells.map((cell) => cell.planner)).map((planner) => el('tr', {},
      el('th', { scope: 'row' }, planner),
      budgets.map((budget) => el('td', {}, cells
        .filter((cell) => cell.planner === planner && cell.budget === budget)
        .map((cell) => entry(network, cell, withChoice))))));
    const head = el('tr', {}, el('th', { scope: 'col' }, 'planner'),
      budgets.map((budget) => el('th', { scope: 'col' }, budget, sizeOf(cells, budget))));
    return el('div', { className: 'scrolls' }, el('table', { className: 'cells' }, head, rows));
  }
  function sizeOf(cells, budget) {  // of a named one, in bytes: `MR 216 KiB`
    const sizes = unique(cells.filter((cell) => cell.budget === budget).map((cell) => cell.bytes));
    const named = /^[a-z]+$/i.test(budget);
    return named && sizes.length === 1 ? el('small', {}, ` ${sizes[0].toLocaleString('en')} B`) : null;
  }
  function entry(network, cell, withChoice) {
    if (cell.status === 'planned') {
      const title = `${cell.proof}. latency ${cell.latency}, traffic ${cell.traffic}, peak ${cell.peak}, `
        + `energy ${cell.energy}`;
      return el('div', { className: 'cell' }, withChoice ? pick(cell.id) : null,
        link(cell[measure], cell.page, {}, { title, className: 'value' }),
        el('small', {}, `${cell.sign} ${cell.proof}`));
    }
    const why = cell.status === 'infeasible' ? `needs ${cell.need}` : 'failed';
    return el('div', { className: 'cell no' },
      link(`✕ ${why}`, `networks/${network}.html`, { why: cell.id }, { title: cell.text }));
  }
  function pick(id) {
    const box = el('input', { type: 'checkbox', value: id, className: 'pick',
      aria: { label: `compare ${nameOf(id)}` } });
    box.onchange = () => choosePair(box);
    return box;
  }
  let picked = [];
  function choosePair(box) {
    picked = box.checked ? [...picked, box.value].slice(-2) : picked.filter((id) => id !== box.value);
    document.querySelectorAll('.pick').forEach((other) => { other.checked = picked.includes(other.value); });
    showPair();
  }
  function showPair() {
    const at = document.getElementById('pair');
    at.replaceChildren(picked.length === 2
      ? link(`Compare ${nameOf(picked[0])} with ${nameOf(picked[1])}`, 'compare.html',
        { here: picked[0], there: picked[1] }, { className: 'button' })
      : 'Tick two plans to compare them.');
  }
  function measures(show) {
    return el('div', { className: 'bar' }, el('span', {}, 'in the tables:'), MEASURES.map((name) => {
      const button = el('button', { type: 'button', aria: { pressed: String(name === measure) } }, name);
      button.onclick = () => {
        measure = name;
        say({ measure: name === 'latency' ? '' : name });
        show();
      };
      return button;
    }));
  }

  // ---- the index --------------------------------------------------------------------------------
  function index() {
    const networks = Object.entries(site.networks).filter(([id]) => id !== site.tourNetwork);
    main.replaceChildren(
      el('p', { className: 'lead' }, 'What does a network need when memory is too small for it? Each '
        + 'entry below is a plan that was made and checked byte by byte: tap one to see which tensor '
        + 'lies where, when it moves, and why.'), el('p', { className: 'doors' },
        site.tour.length ? tourLink(0, 'Begin with the tour') : null,
        site.tasks ? link('Assignments: answer by hand, judged here', 'tasks.html') : null),
      measures(index),
      ...networks.map(([id, { name, about }]) => el('section', { className: 'box' },
        el('h2', {}, link(name, `networks/${id}.html`), el('span', {}, about)), tableOf(id, false))),
      el('p', { className: 'faint' }, `Machine: ${site.machine}. ✓ proven, ≈ with a gap or a heuristic, `
        + '✕ no plan fits: the least that would.'));
  }

  // ---- a network ----------------------------------------------------------------------------------
  const fronts = document.getElementById('fronts');
  function network() {
    const { about } = site.networks[of] || { about: 'no such network' };
    main.replaceChildren(el('p', { className: 'lead' }, about), measures(network),
      el('section', { className: 'box' }, tableOf(of, true), el('p', { id: 'pair' })),
      ...[why(), fronts && el('h2', {}, 'What does more memory buy? Each point is a plan: tap it.'),
        fronts].filter(Boolean));
    showPair();
  }
  function why() {
    const chosen = words().get('why');
    const cells = cellsOf(of).map((id) => ({ id, ...site.cells[id] }))
      .filter((cell) => cell.status !== 'planned');
    if (!cells.length) return null;
    return el('section', { className: 'box', id: 'why' }, el('h2', {}, 'Where nothing fits'),
      cells.map((cell) => el('p', { className: cell.id === chosen ? 'chosen' : '' },
        el('b', {}, `${nameOf(cell.id)}: `), cell.status === 'failed' ? cell.text
          : `needs ${cell.need}, has ${cell.have}, short by ${cell.short}. `,
        cell.binds ? `What binds: ${cell.binds}${cell.tensors.length
          ? `, which has ${cell.tensors.join(', ')} there at once` : ''}. ` : '', nearest(cell))));
  }
  function nearest(cell) {  // who can at that budget, and where this planner can
    const all = cellsOf(of).map((id) => ({ id, ...site.cells[id] })).filter(({ page: file }) => file);
    const same = all.filter((other) => other.planner === cell.planner && other.bytes > cell.bytes)
      .sort((a, b) => a.bytes - b.bytes)[0];
    const others = all.filter((other) => other.bytes <= cell.bytes)
      .sort((a, b) => b.bytes - a.bytes).slice(0, 3);
    const fits = [same, ...others].filter(Boolean);
    if (!fits.length) return null;
    return el('span', {}, 'Fits: ', fits.flatMap((other, i) =>
      [i ? ', ' : '', link(nameOf(other.id), other.page)]), '.');
  }
  function listen() {
    const told = JSON.parse(document.getElementById('page-data').textContent);
    const doc = window.Bokeh && Bokeh.documents[0];
    if (!told) return;
    if (!doc || told.sources.some((id) => !doc.get_model_by_id(id))) {
      setTimeout(listen, 15);
      return;
    }
    for (const id of told.sources) {
      const source = doc.get_model_by_id(id);
      source.selected.properties.indices.change.connect(() => {
        const [row] = source.selected.indices;
        if (row !== undefined) open(told.pages[source.data.index[row]]);
      });
    }
    themed((dark) => {
      for (const [id, properties] of Object.entries(told.colours)) {
        const model = doc.get_model_by_id(id);
        if (model) model.setv(Object.fromEntries(Object.entries(properties)
          .map(([name, pair]) => [name, pair[dark ? 1 : 0]])));
      }
    });
    document.documentElement.dataset.ready = 'yes';
  }

  const show = page === 'index' ? index : network;
  show();
  if (page === 'network') listen();
  window.addEventListener('hashchange', show);
})();
