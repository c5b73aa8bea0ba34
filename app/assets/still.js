(function (name) {
  // One cursor through map, held bytes and timeline; hovers; one selection. Text only, no markup.
  const root = document.getElementById(name);
  if (!root || root.dataset.on) return;
  root.dataset.on = '1';
  const all = (what) => Array.from(root.querySelectorAll(what));
  const num = (node, key) => parseFloat(node.getAttribute(key));
  for (const title of all('title')) {  // our hover is at once, the browser's after a second
    title.parentNode.dataset.told = title.textContent;
    title.remove();
  }
  const steps = all('.sw-step'), stays = all('.sw-stays rect');
  const told = root.querySelector('.sw-told'), tip = root.querySelector('.sw-tip');
  const memory = root.querySelector('.sw-memory'), lanes = root.querySelector('.sw-lanes');
  const here = memory && memory.querySelector('.sw-cur');
  const then = lanes && lanes.querySelector('.sw-cur');
  let at = -1;
  const part = (tag, text, parent) => {
    const node = document.createElement(tag);
    node.textContent = text;
    parent.append(node);
    return node;
  };
  function live(x) {
    const found = stays.filter((r) => num(r, 'x') <= x && x < num(r, 'x') + num(r, 'width'));
    return found.sort((a, b) => num(b, 'height') - num(a, 'height'));
  }
  function place(k) {
    if (!steps.length) return;
    at = Math.max(0, Math.min(steps.length - 1, k));
    const bar = steps[at], x = num(bar, 'x'), wide = num(bar, 'width');
    if (here) { here.setAttribute('x', x); here.setAttribute('width', wide); }
    if (then && bar.dataset.t) {
      const [start, stop] = bar.dataset.t.split(' ').map(Number);
      const left = +lanes.dataset.left, room = lanes.dataset.right - left;
      const px = (s) => left + room * s / lanes.dataset.end;
      then.setAttribute('x', px(start));
      then.setAttribute('width', Math.max(1.5, px(stop) - px(start)));
    }
    told.textContent = '';
    const [step, held] = bar.dataset.told.split('\n');
    part('b', step, told);
    part('em', held, told);
    const found = live(x + wide / 2);
    if (found.length) told.append(document.createElement('br'));
    const names = new Map();
    for (const rect of found) {
      const [tensor, what] = rect.dataset.told.split('\n');
      const known = names.get(tensor) || { rect, count: 0, size: (what || '').split(', ').pop() };
      names.set(tensor, { ...known, count: known.count + 1 });
    }
    for (const [tensor, { rect, count, size }] of Array.from(names).slice(0, 6)) {
      part('i', '', told).style.background = rect.parentNode.dataset.colour;
      told.append(tensor + (count > 1 ? ', ' + count + ' pieces' : size ? ', ' + size : ''));
    }
    if (names.size > 6) part('em', 'and ' + (names.size - 6) + ' more', told);
  }
  function select(n) {
    const before = stays.some((r) => r.dataset.n === n && r.classList.contains('sw-on'));
    for (const r of stays) r.classList.toggle('sw-on', !before && r.dataset.n === n);
  }
  function nearest(event) {
    const box = memory.getBoundingClientRect(), view = memory.viewBox.baseVal;
    const x = (event.clientX - box.left) * view.width / box.width;
    return steps.findIndex((r) => x < num(r, 'x') + num(r, 'width'));
  }
  function hover(event) {
    const said = event.target.dataset || {}, text = said.told || said.tip;  // or of the glossary
    tip.hidden = !text;
    if (!text) return;
    const about = event.target.parentNode.dataset.about;
    tip.textContent = about ? text + '\n' + about : text;
    const box = root.getBoundingClientRect(), x = event.clientX - box.left;
    const y = event.clientY - box.top;
    tip.style.left = (x > box.width / 2 ? x - tip.offsetWidth - 14 : x + 14) + 'px';
    tip.style.top = Math.max(0, y > box.height - tip.offsetHeight - 20
      ? y - tip.offsetHeight - 8 : y + 14) + 'px';
  }
  root.addEventListener('mousemove', hover);
  root.addEventListener('mouseleave', () => { tip.hidden = true; });
  for (const svg of all('.sw-needs')) {
    svg.addEventListener('click', (e) => {
      if (steps.includes(e.target)) place(steps.indexOf(e.target));
    });
  }
  if (memory) {
    let held = false;
    memory.addEventListener('mousemove', (e) => {
      if (!held && nearest(e) >= 0) place(nearest(e));
    });
    memory.addEventListener('click', (e) => {
      held = !held || e.target.dataset.n !== undefined;
      if (nearest(e) >= 0) place(nearest(e));
      if (e.target.dataset.n !== undefined) select(e.target.dataset.n);
    });
    memory.tabIndex = 0;
    memory.dataset.lmSuppressShortcuts = 'true';
    memory.addEventListener('keydown', (e) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
      if (!by) return;
      held = true;
      place(at + by);
      e.preventDefault();
      e.stopPropagation();
    });
    const x = here ? num(here, 'x') + 0.01 : 0;
    place(steps.findIndex((r) => x < num(r, 'x') + num(r, 'width')));
  }
  if (lanes) {
    lanes.addEventListener('click', (e) => {
      const step = +e.target.dataset.s;
      if (step) place(steps.filter((r) => +r.dataset.s <= step).length - 1);
    });
  }
})
