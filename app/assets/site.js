'use strict';
// What the pages of a site share: the list of its plans, links that keep the theme, the words of an
// address, the tour. Names are written as text, never as HTML.
(() => {
  const site = window.spillwaySite, nav = document.getElementById('site-nav');
  const { page, up, of } = nav.dataset;
  const onPlan = page === 'plan';

  function el(tag, props = {}, ...children) {
    const node = document.createElement(tag), { data = {}, aria = {}, ...rest } = props;
    for (const [name, value] of Object.entries(rest))
      if (value !== undefined && value !== null) node[name] = value;
    for (const [name, value] of Object.entries(data)) node.dataset[name] = value;
    for (const [name, value] of Object.entries(aria)) node.setAttribute(`aria-${name}`, value);
    node.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return node;
  }

  // ---- addresses ---------------------------------------------------------------------------
  const words = () => new URLSearchParams(location.hash.slice(1));
  function addressOf(file, said = {}) {
    const kept = new URLSearchParams(said);
    return `${up}${file}${kept.size ? `#${kept}` : ''}`;
  }
  const link = (text, file, said, props = {}) =>
    el('a', { href: addressOf(file, said), ...props }, text);
  function say(changes) {  // words of this address, so that a link restores what is shown
    const now = words();
    for (const [name, text] of Object.entries(changes))
      if (text) now.set(name, text);
      else now.delete(name);
    const hash = now.size ? `#${now}` : '';
    if (hash !== location.hash)
      history.replaceState(null, '', hash || location.pathname + location.search);
  }
  document.addEventListener('click', ({ target }) => {  // the theme that was chosen goes along
    const anchor = target.closest && target.closest('a[href]'), theme = words().get('theme');
    if (!anchor || !theme || anchor.protocol !== location.protocol) return;
    const there = new URLSearchParams(anchor.hash.slice(1));
    there.set('theme', theme);
    anchor.hash = there;
  }, true);
  function open(file, said = {}) {
    const theme = words().get('theme');
    location.href = addressOf(file, theme ? { ...said, theme } : said);
  }

  // ---- light and dark, on pages that are no plan's ------------------------------------------
  const dressed = [];
  function theme() {
    const wanted = matchMedia('(prefers-color-scheme: dark)'), button = document.getElementById('theme');
    const isDark = () => (words().get('theme') ? words().get('theme') === 'dark' : wanted.matches);
    const dress = () => {
      document.documentElement.dataset.theme = isDark() ? 'dark' : 'light';
      button.textContent = isDark() ? 'Light' : 'Dark';
      for (const act of dressed) act(isDark());
    };
    button.onclick = () => {
      say({ theme: isDark() ? 'light' : 'dark' });
      dress();
    };
    wanted.addEventListener('change', dress);
    window.addEventListener('hashchange', dress);
    dress();
    return (act) => { dressed.push(act); act(isDark()); };
  }

  // ---- the plans of a network ----------------------------------------------------------------
  const cellsOf = (network) => ((site.networks[network] || {}).cells || []);
  const nameOf = (id) => {
    const { planner, budget } = site.cells[id];
    return `${planner} at ${budget}`;
  };
  function chooser(network, chosen, act, label) {  // a plan of a network, out of those that there are
    const list = el('select', { aria: { label } }, cellsOf(network).map((id) => {
      const { status } = site.cells[id];
      return el('option', { value: id, selected: id === chosen, disabled: status !== 'planned' },
        nameOf(id) + (status === 'planned' ? '' : ` (${status})`));
    }));
    list.onchange = () => act(list.value);
    return list;
  }

  // ---- links of every page ---------------------------------------------------------------------
  function navigate() {
    nav.append(link('All plans', 'index.html'));
    const cell = onPlan && site.cells[of], stays = cell && cell.stays;
    const network = cell ? cell.network : page === 'network' ? of : '';
    if (cell) {
      nav.append(link(site.networks[network].name, `networks/${network}.html`),
        chooser(network, of, (id) => {
          const { step, selection, ...rest } = Object.fromEntries(words());
          open(site.cells[id].page, selection ? { selection, ...rest } : rest);
        }, 'another plan of this network'));
      const other = cellsOf(network).find((id) => id !== of && site.cells[id].page);
      if (other) nav.append(link('Compare', 'compare.html', { here: of, there: other }));
      if (stays) nav.append(link('Place by hand', 'place.html', { plan: of }));
    }
    if (site.tour.length && !onPlan) nav.append(tourLink(0, 'Tour'));
    if (site.tasks && page !== 'tasks' && !onPlan) nav.append(link('Assignments', 'tasks.html'));
  }

  // ---- the tour ----------------------------------------------------------------------------------
  function tourLink(number, text) {
    const stop = site.tour[number];
    return link(text, stop.page, { ...stop.words, tour: String(number) });
  }
  function tour() {
    const number = Number(words().get('tour') || NaN), stop = site.tour[number];
    const was = document.getElementById('tour');
    if (was) was.remove();
    document.querySelectorAll('.toured').forEach((node) => node.classList.remove('toured'));
    if (!stop) return;
    const last = site.tour.length - 1;
    const box = el('section', { id: 'tour', aria: { label: 'tour' } },
      el('h2', {}, `${number + 1} of ${last + 1}: ${stop.title}`), el('p', {}, stop.text),
      el('p', { className: 'moves' },
        number > 0 ? tourLink(number - 1, '◀ Back') : null,
        number < last ? tourLink(number + 1, 'Next ▶') : null,
        link('End', 'index.html')));
    document.body.append(box);
    const outlined = stop.outlined && document.querySelector(stop.outlined);
    if (!outlined) return;
    outlined.classList.add('toured');
    outlined.scrollIntoView({ block: 'center' });
  }

  // ---- a plan within the page of two ---------------------------------------------------------------
  function embedded() {
    if (window.parent === window || !words().has('within')) return;
    document.documentElement.dataset.within = 'yes';
    const tell = (facts) => window.parent.postMessage({ spillway: of, ...facts }, '*');
    document.addEventListener('spillway-moved', ({ detail }) => tell({ moved: detail }));
    window.addEventListener('message', ({ data, source }) => {
      if (source !== window.parent || !data || typeof data.spillway !== 'object') return;
      document.dispatchEvent(new CustomEvent('spillway-go', { detail: { ...data.spillway } }));
    });
    new ResizeObserver(() => tell({ height: document.documentElement.scrollHeight }))
      .observe(document.body);
  }

  window.spillway = { site, page, of, up, el, link, open, words, say, cellsOf, nameOf, chooser,
    tour, tourLink, themed: onPlan ? () => {} : theme() };
  navigate();
  tour();
  window.addEventListener('hashchange', tour);
  if (onPlan) embedded();
})();
