const CSS = `
.spotlight { position: fixed; z-index: 4000; border: 3px solid #E69F00; border-radius: 8px;
  box-shadow: 0 0 0 9999px rgba(8, 14, 20, .42); pointer-events: none; box-sizing: border-box; }
.callout { position: fixed; z-index: 4001; width: 340px; box-sizing: border-box;
  padding: 12px 14px 10px; border-radius: 8px; background: var(--sw-panel, #fff);
  color: var(--sw-text, #1f2933); border: 1px solid #E69F00;
  box-shadow: 0 6px 28px rgba(0, 0, 0, .45); font: 14px/1.45 var(--sw-font, system-ui); }
.callout h2 { margin: 0 0 5px; font-size: 16px; }
.callout p { margin: 0 0 9px; overflow-wrap: anywhere; }
.row { display: flex; align-items: center; gap: 6px; }
.count { flex: 1; color: var(--sw-faint, #5f6b76); font-size: 12px; }
button { font: 600 13px var(--sw-font, system-ui); padding: 5px 12px; border-radius: 5px;
  border: 1px solid var(--sw-faint, #888); background: transparent; color: inherit;
  cursor: pointer; }
button.next { background: #0072B2; border-color: #0072B2; color: #fff; }
button:disabled { opacity: .4; cursor: default; }
button:focus-visible { outline: 2px solid #E69F00; outline-offset: 2px; }
.dots { display: flex; gap: 3px; margin: 0 0 8px; }
.dots i { flex: 1; height: 3px; border-radius: 2px; background: var(--sw-grid, #ddd); }
.dots i.on { background: #E69F00; }
.spin { display: inline-block; width: 10px; height: 10px; margin-right: 7px; border-radius: 50%;
  border: 2px solid #0072B2; border-right-color: transparent; animation: turn 1s linear infinite; }
@keyframes turn { to { transform: rotate(360deg); } }
@media (prefers-reduced-motion: reduce) { .spin { animation: none; } }`;
const GAP = 14, LINE = 46;  // pixels; the line of the cursor stays over what is scrolled
const LEAST = 230, USUAL = 340, WIDEST = 640;
function found(root, name) {
  for (const node of root.querySelectorAll('*')) {
    if (node.classList.contains(name) && node.getBoundingClientRect().width) return node;
    const inner = node.shadowRoot && found(node.shadowRoot, name);
    if (inner) return inner;
  }
  return null;
}
function around(nodes) {
  const boxes = nodes.map((node) => node.getBoundingClientRect()).filter((b) => b.width);
  if (!boxes.length) return null;
  return { left: Math.min(...boxes.map((b) => b.left)) - 4,
    top: Math.min(...boxes.map((b) => b.top)) - 4,
    right: Math.max(...boxes.map((b) => b.right)) + 4,
    bottom: Math.max(...boxes.map((b) => b.bottom)) + 4 };
}
export function render({ model }) {
  const host = document.createElement('div');
  host.className = 'spillway-tour';
  const root = host.attachShadow({ mode: 'open' });
  root.innerHTML = `<style>${CSS}</style><div class="spotlight" hidden></div>
    <div class="callout" role="dialog" aria-modal="false" aria-labelledby="t"
      aria-describedby="p" tabindex="-1" hidden><div class="dots"></div><h2 id="t"></h2>
      <p id="p" aria-live="polite"></p><div class="row"><span class="count"></span>
      <button class="done">Done</button><button class="back">Back</button>
      <button class="next">Next</button></div></div>`;
  const part = (name) => root.querySelector('.' + name);
  const box = part('callout'), outline = part('spotlight');
  const say = (key) => model.send_msg({ key });
  for (const key of ['done', 'back', 'next']) part(key).onclick = () => say(key);
  let nodes = [], timer = null, sought = 0, shown = 0;
  function look() {
    const names = model.callout.targets || [];
    if (nodes.length < names.length || nodes.some((n) => !n.isConnected)) {
      nodes = names.map((name) => found(document, name)).filter(Boolean);
    }
    if (nodes.length && sought < 2) {  // once at once, and once more when all is drawn
      sought += 1;
      const at = around(nodes);
      const tall = at && at.bottom - at.top > 0.55 * window.innerHeight;
      nodes[0].scrollIntoView({ block: tall ? 'start' : 'center' });
      if (tall) document.getElementById('main').scrollBy(0, -sized(WIDEST) - 2 * GAP - LINE);
    }
    place(around(nodes));
  }
  function place(at) {
    const wide = window.innerWidth, high = window.innerHeight;
    if (!at) {
      outline.hidden = true;
      sized(USUAL);
      Object.assign(box.style, { left: (wide - USUAL) / 2 + 'px', top: high / 3 + 'px' });
      return;
    }
    outline.hidden = false;
    const top = Math.max(at.top, 2), bottom = Math.min(at.bottom, high - 2);
    Object.assign(outline.style, { left: at.left + 'px', top: top + 'px',
      width: at.right - at.left + 'px', height: Math.max(0, bottom - top) + 'px' });
    const clamp = (x, most) => Math.max(8, Math.min(x, most - 8));
    const right = wide - at.right - GAP - 4, left = at.left - GAP - 4;  // what is free there
    const beside = [right, left].map((free) => Math.min(USUAL, Math.floor(free)));
    const places = [  // a width, and where a box of that width and a height would be
      [beside[0], (high_) => [at.right + GAP, clamp(top, high - high_)]],
      [beside[1], (high_) => [at.left - GAP - beside[1], clamp(top, high - high_)]],
      ...[USUAL, Math.min(WIDEST, wide - 16)].flatMap((width) => [
        [width, () => [clamp(at.left, wide - width), at.bottom + GAP]],
        [width, (high_) => [clamp(at.left, wide - width), at.top - GAP - high_]],
      ]),
    ];
    let found = null;
    for (const [width, put] of places) {
      if (width < LEAST) continue;
      const tall = sized(width), [x, y] = put(tall);
      if (y >= 4 && y + tall <= high - 4) { found = [x, y]; break; }
    }
    if (!found) {  // over the lower right of what fills the window
      const tall = sized(USUAL);
      found = [clamp(at.right - USUAL - 16, wide - USUAL), clamp(bottom - tall - 16, high - tall)];
    }
    Object.assign(box.style, { left: found[0] + 'px', top: found[1] + 'px' });
  }
  function sized(width) {  // the height of the box in a width
    box.style.width = width + 'px';
    return box.getBoundingClientRect().height;
  }
  function draw() {
    const callout = model.callout;
    const on = callout.number !== undefined;
    box.hidden = !on;
    if (!on) {
      outline.hidden = true;
      clearInterval(timer); timer = null; shown = 0;
      const url = new URL(window.location.href);
      if (host.isConnected && url.searchParams.has('tour')) {
        url.searchParams.delete('tour');
        window.history.replaceState({}, '', url);
      }
      host.remove();
      return;
    }
    if (!host.isConnected) document.body.append(host);
    part('dots').replaceChildren(...Array.from({ length: callout.of }, (_, i) => {
      const dot = document.createElement('i');
      if (i < callout.number) dot.className = 'on';
      return dot;
    }));
    root.getElementById('t').textContent = callout.title;
    const text = root.getElementById('p');
    text.textContent = callout.text;
    if (callout.waiting) text.prepend(Object.assign(document.createElement('span'),
      { className: 'spin' }));
    part('count').textContent = `${callout.number} of ${callout.of}`;
    part('back').disabled = callout.number === 1;
    const last = callout.number === callout.of;
    part('next').textContent = last ? 'Finish' : 'Next';
    part('done').hidden = last;
    if (shown !== callout.number || !callout.waiting) { nodes = []; }
    if (shown !== callout.number) { sought = 0; part('next').focus({ preventScroll: true }); }
    if (shown === callout.number && !callout.waiting) sought = Math.min(sought, 1);
    shown = callout.number;
    look();
    if (!timer) timer = setInterval(look, 200);
  }
  document.addEventListener('keydown', (event) => {
    if (box.hidden || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = event.composedPath()[0];
    if (at && /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) && event.key !== 'Escape') return;
    const key = { Escape: 'done', ArrowRight: 'next', ArrowLeft: 'back' }[event.key];
    if (!key) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (key !== 'back' || model.callout.number > 1) say(key);
  }, true);
  model.on('callout', draw);
  model.on('remove', () => { clearInterval(timer); host.remove(); });
  draw();
  return document.createElement('span');
}
