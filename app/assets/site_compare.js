'use strict';
// Two plans of a network: what differs in numbers and tensors, and both pages with one cursor.
(() => {
  const { site, el, up, words, say, nameOf, chooser, link, tour } = window.spillway;
  const main = document.getElementById('main');
  const KINDS = ['spilled only in the first', 'spilled only in the second', 'only in the first',
    'only in the second', 'cut into other pieces', 'in other steps', 'at another address'];
  const OPPOSITE = [1, 0, 3, 2, 4, 5, 6];
  const FEW = 12;
  const frames = {};
  let pairs = null, heard = {};

  function chosen() {
    const here = words().get('here'), there = words().get('there');
    const known = (id) => Object.hasOwn(site.cells, id || '') && site.cells[id].page;
    return known(here) && known(there) && site.cells[here].network === site.cells[there].network
      ? { here, there, network: site.cells[here].network } : null;
  }
  function pairOf({ here, there }) {  // as it is, or turned round
    const own = (name) => (Object.hasOwn(pairs.pairs, name) ? pairs.pairs[name] : null);
    const direct = own(`${here}/${there}`), turned = own(`${there}/${here}`);
    if (direct || !turned) return direct;
    return { count: turned.count,
      totals: turned.totals.map(([name, a, b, more, sign]) => [name, b, a, more, -sign]),
      tensors: turned.tensors.map(([t, kind, a, b]) => [t, OPPOSITE[kind], b, a]) };
  }

  // ---- tables --------------------------------------------------------------------------------
  const row = (tag, ...texts) => el('tr', {}, texts.map((text, i) =>
    el(tag, { className: i ? 'number' : '' }, text)));
  function totals(pair, { here, there }) {
    return el('table', {}, row('th', '', nameOf(here), nameOf(there), 'the second has'),
      pair.totals.map(([name, a, b, more, sign]) => row('td', name, a, b,
        sign === 0 ? 'the same' : `${more} ${sign > 0 ? 'less' : 'more'}`)));
  }
  function tensors(pair) {
    if (!pair.count) return el('p', {}, 'No tensor differs in address, steps or transfers.');
    const all = words().has('all'), some = all ? pair.tensors : pair.tensors.slice(0, FEW);
    const moves = some.some(([, , a, b]) => a !== b);  // else two columns of the same
    const rest = pair.count - some.length;
    const more = el('button', { type: 'button' }, all ? 'Fewer' : `${rest.toLocaleString('en')} more`);
    more.onclick = () => {
      say({ all: all ? '' : '1' });
      show();
    };
    return el('div', {},
      el('table', {}, row('th', 'tensor', 'how it differs', ...(moves ? ['spilled, first', 'second'] : [])),
        some.map(([t, kind, a, b]) => {
          const line = row('td', pairs.tensors[t], KINDS[kind], ...(moves ? [a, b] : []));
          line.className = 'tap';
          line.tabIndex = 0;
          line.onclick = () => tellAll({ selection: `tensor:${pairs.tensors[t]}` });
          line.onkeydown = ({ key }) => { if (key === 'Enter') line.onclick(); };
          return line;
        })),
      rest > 0 || all ? more : null,
      all && rest > 0 ? el('p', { className: 'faint' }, `${rest} more are not in this file`) : null);
  }

  // ---- both pages ----------------------------------------------------------------------------
  function tellAll(detail, except) {
    for (const [side, frame] of Object.entries(frames))
      if (side !== except) frame.contentWindow.postMessage({ spillway: detail }, '*');
  }
  function hear({ source, data }) {
    const side = Object.keys(frames).find((name) => frames[name].contentWindow === source);
    if (!side || !data || typeof data !== 'object') return;
    if (data.height > 0) frames[side].style.height = `${Math.min(4000, data.height) + 2}px`;
    if (!data.moved) return;
    const first = !Object.hasOwn(heard, side), before = heard[side];
    heard[side] = data.moved;
    if (first) {  // it is there now: the same height for both, and the second where the first is
      const { operator, selection } = heard.here || {};
      document.documentElement.dataset.ready = String(Object.keys(heard).length);
      frames[side].contentWindow.postMessage({ spillway: { top: topOf() } }, '*');
      if (heard.here && heard.there)
        frames.there.contentWindow.postMessage({ spillway: { operator, selection } }, '*');
      return;
    }
    const { step, operator, selection, led } = data.moved;
    if (led || (step === before.step && selection === before.selection)) return;
    say({ step: side === 'here' ? String(step) : '', selection });
    tellAll({ operator, selection }, side);
  }
  function topOf() {
    const now = chosen();
    return Math.max(...['here', 'there'].map((side) => pairs.tops[now[side]] || 0));
  }
  function frame(side, id) {
    const said = new URLSearchParams({ within: side });
    for (const name of ['step', 'selection', 'theme'])
      if (words().get(name)) said.set(name, words().get(name));
    frames[side] = el('iframe', { title: `${side === 'here' ? 'first' : 'second'}: ${nameOf(id)}`,
      src: `${up}${site.cells[id].page}#${said}` });
    return el('section', { className: 'box' }, el('h2', {}, link(nameOf(id), site.cells[id].page)),
      frames[side]);
  }

  function show() {
    const now = chosen(), pair = now && pairs && pairOf(now);
    if (!pair) {
      const why = now ? 'Choose two different plans.' : 'Choose a network, and two of its plans there.';
      main.replaceChildren(el('p', {}, why), ...(now ? [choosers(now)] : []),
        el('ul', {}, Object.entries(site.networks).map(([id, { name }]) =>
          el('li', {}, link(name, `networks/${id}.html`)))));
      return;
    }
    const tables = el('div', { className: 'compared' },
      el('section', { className: 'box', id: 'totals' }, el('h2', {}, 'In all'), totals(pair, now)),
      el('section', { className: 'box', id: 'tensors' }, el('h2', {}, 'Tensors that differ',
        el('span', {}, `${pair.count.toLocaleString('en')}, what moves most bytes first`)), tensors(pair)));
    const before = document.querySelector('.both');
    if (before && before.dataset.of === `${now.here}/${now.there}`) {
      document.querySelector('.compared').replaceWith(tables);
      return;
    }
    heard = {};
    const both = el('div', { className: 'both', data: { of: `${now.here}/${now.there}` } },
      frame('here', now.here), frame('there', now.there));
    main.replaceChildren(choosers(now), tables, both);
    tour();
  }
  function choosers({ here, there, network }) {
    const go = (one, other) => {
      say({ here: one, there: other, all: '' });
      show();
    };
    const swap = el('button', { type: 'button' }, 'Swap');
    swap.onclick = () => go(there, here);
    return el('div', { className: 'bar' }, el('span', {}, site.networks[network].name),
      chooser(network, here, (id) => go(id, there), 'first plan'),
      chooser(network, there, (id) => go(here, id), 'second plan'), swap);
  }

  function load() {
    const now = chosen();
    if (!now) return show();
    const script = el('script', { src: `${up}data/pairs-${now.network}.js`, charset: 'utf-8',
      nonce: document.querySelector('script[nonce]').nonce });
    script.onload = () => {
      pairs = window.spillwayPairs;
      show();
    };
    document.head.append(script);
  }
  window.addEventListener('message', hear);
  window.addEventListener('hashchange', () => {
    const frameTheme = words().get('theme');
    if (frameTheme) delete (document.querySelector('.both') || { dataset: {} }).dataset.of;
    load();
  });
  load();
})();
