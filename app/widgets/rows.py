"""Small components: rows that can be tapped, words of a step, and what only the browser can do."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import param

from app.model.places import ASSETS
from app.widgets.component import Component
from app.widgets.style import TIP

ROWS, EACH_STEP = (
    (ASSETS / name).read_text(encoding="utf-8") for name in ("rows.js", "each_step.js")
)
"""How rows become a table, here and in a page without a server; how a table follows the cursor."""


VISIT = "visit:"


class Sender(Component):
    """A component whose messages are keys: of the keyboard, or of a row."""

    __abstract = True

    def on_key(self, act: Callable[[str], object]) -> None:
        """Call `act` with each key that arrives."""
        self.on_msg(lambda event: act(str(event.data.get("key", ""))))


class Words(Component):
    """A line of our own HTML about the cursor's step."""

    part = param.String(default="", doc="Which of the step's lines it is.")

    _esm = (
        EACH_STEP
        + """
export function render({ model, view }) {
  const root = document.createElement('div');
  atEachStep(model, view, (told) => { root.innerHTML = told[model.part] || ''; });
  return root;
}
"""
    )


class BarRows(Sender):
    """Rows with a chip, a text, numbers and a bar; a tap sends the row's key, or selects it."""

    rows = param.List(default=[], doc="Dicts: key, chip, mark, ink, text, cells, share, title.")
    head = param.List(default=[], doc="Titles of the columns as our own HTML; none, no head.")
    empty = param.String(default="", doc="What is said where there are no rows.")
    part = param.String(default="", doc="Which rows of the cursor's step it has; or its own.")
    selects = param.Boolean(default=False, doc="Whether keys are selections: the browser's matter.")

    _esm = (
        ROWS
        + EACH_STEP
        + """
export function render({ model, view }) {
  const root = document.createElement('div');
  let rows = model.rows, selected = '', isOn = () => false;
  if (model.part === 'story') root.setAttribute('aria-live', 'polite');
  function draw() {
    const { head, empty, selects } = model, page = view.model.document;
    const choose = (key) => (selects
      ? document.dispatchEvent(new CustomEvent('spillway-choose', { detail: { key, page } }))
      : model.send_msg({ key }));
    root.replaceChildren(tableOf(rows, { head, empty, isOn, choose }));
    reach();
  }
  // Where no row can be reached by key, what has to be scrolled can.
  function reach() {
    const { host } = root.getRootNode();
    if (!host) return;
    const cut = host.scrollHeight > host.clientHeight + 1 && !root.querySelector('.tap');
    if (cut) host.tabIndex = 0;
    else host.removeAttribute('tabindex');
  }
  new ResizeObserver(reach).observe(root);
  if (!model.part) model.on(['rows', 'head'], () => { rows = model.rows; draw(); });
  draw();
  if (model.selects) atEachStep(model, view, (told) => {
    const same = selected === told.selection;
    selected = told.selection;
    if (same && !model.part) return;  // its rows are of no step
    isOn = model.part === 'live' ? told.isOn : (key) => key === selected;
    if (model.part) rows = told[model.part];
    if (rows) draw();
    else root.replaceChildren(textNode('div', '…', 'empty'));  // its words are on their way
  });
  return root;
}
"""
    )
    _stylesheets: ClassVar[list[str]] = [
        TIP,
        """
:host { font: 12px var(--sw-font); color: var(--sw-text); overflow-y: auto; }
table { border-collapse: collapse; width: 100%; table-layout: auto; }
th { font-weight: 600; text-align: left; color: var(--sw-faint); padding: 1px 4px;
  position: sticky; top: 0; background: var(--sw-panel); }
td { padding: 2px 4px; border-top: 1px solid var(--sw-grid); vertical-align: top;
  line-height: 1.35; }
tr:first-child td { border-top: none; }
td:first-child { overflow-wrap: anywhere; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.chip { display: inline-block; min-width: 14px; height: 14px; line-height: 14px; margin-right: 6px;
  border-radius: 3px; text-align: center; font-size: 10px; font-weight: 700; padding: 0 2px;
  vertical-align: top; margin-top: 1px; }
.share { display: block; height: 3px; margin-top: 2px; border-radius: 2px; }
.tap { cursor: pointer; }
.tap:hover, .tap:focus { background: var(--sw-hover); outline: none; }
.tap:focus-visible { outline: 2px solid var(--sw-accent); outline-offset: -2px; }
.title td { font-weight: 600; color: var(--sw-faint); padding-top: 6px; }
.on td { background: var(--sw-hover); }
.on td:first-child { box-shadow: inset 3px 0 var(--sw-accent); }
.empty { color: var(--sw-faint); padding: 4px; }
""",
    ]


class Browser(Sender):
    """What only the browser can do: keys come in as messages; the address and the clipboard go out.

    Keys are messages, because a property that changes fast is merged. An address of another model,
    machine, budget or planner is pushed, so that the back button leads to the plan before; Back
    and Forward come in as `visit:` and the query. Other addresses are replaced.
    """

    first = param.String("", doc="The query of the problem with which the page opened.")
    visits = 0
    """How often Back or Forward has come in: an address from before is of another plan."""

    def on_key(self, act: Callable[[str], object]) -> None:
        """Call `act` with each key of the keyboard."""
        super().on_key(lambda key: None if key.startswith(VISIT) else act(key))

    def on_visit(self, act: Callable[[str], object]) -> None:
        """Call `act` with the query to which Back or Forward leads."""

        def hear(key: str) -> None:
            if key.startswith(VISIT):
                self.visits += 1
                act(key.removeprefix(VISIT))

        super().on_key(hear)

    def address(self, query: str) -> None:
        """Put a query into the browser's address, keeping parameters that are not ours (the
        theme)."""
        self._send_msg({"address": query, "visits": self.visits})

    def copy(self, text: str) -> None:
        """Put a text on the clipboard, where the browser allows it."""
        self._send_msg({"copy": text})

    def file(self, name: str, zip: str = "", gzip: str = "") -> None:
        """Save a zip whose bytes are given in base 64, or a file that is compressed so."""
        self._send_msg({"file": zip or gzip, "name": name, "packed": bool(gzip)})

    def picture(self, kind: str, name: str, only: str = "") -> None:
        """Save the figures on screen, one below the other, as `svg` or `png`; or `only` one."""
        self._send_msg({"picture": kind, "name": name, "only": only})

    _esm = """
const seen = (view, only) => view.model && view.model.type === 'Figure' && view.el.isConnected
  && view.el.getBoundingClientRect().width > 0
  && (!only || [...view.model.css_classes].includes(only));
async function figures(kind, only) {
  const found = [];
  const walk = (view) => {
    if (seen(view, only)) found.push(view);
    for (const child of view.child_views || []) walk(child);
  };
  for (const root of Bokeh.index.roots) walk(root);
  const top = (view) => view.el.getBoundingClientRect();
  found.sort((a, b) => top(a).x - top(b).x > 99 ? 1 : top(b).x - top(a).x > 99 ? -1
    : top(a).y - top(b).y);
  return Promise.all(found.map(async (view) => {
    const blob = await view.export(kind).to_blob();
    return { blob, width: view.bbox.width, height: view.bbox.height };
  }));
}
async function together(kind, only) {
  const parts = await figures(kind, only);
  const width = Math.max(...parts.map((p) => p.width));
  const height = parts.reduce((sum, p) => sum + p.height, 0);
  const look = getComputedStyle(document.documentElement);
  const behind = look.getPropertyValue('--sw-panel').trim();
  let y = 0;
  if (kind === 'svg') {
    const inner = [];
    for (const part of parts) {
      inner.push((await part.blob.text()).replace('<svg ', `<svg y="${y}" `));
      y += part.height;
    }
    const head = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">`;
    inner.unshift(`<rect width="100%" height="100%" fill="${behind}"/>`);
    return new Blob([head, ...inner, '</svg>'], { type: 'image/svg+xml' });
  }
  const canvas = document.createElement('canvas');
  const scale = window.devicePixelRatio;
  canvas.width = width * scale; canvas.height = height * scale;
  canvas.getContext('2d').fillStyle = behind;
  canvas.getContext('2d').fillRect(0, 0, canvas.width, canvas.height);
  for (const part of parts) {
    const image = await createImageBitmap(part.blob);
    canvas.getContext('2d').drawImage(image, 0, y, part.width * scale, part.height * scale);
    y += part.height * scale;
  }
  return new Promise((done) => canvas.toBlob(done));
}
async function whole() {  // what is made when it comes near the window is made for a picture too
  const detail = { parts: [] }, idle = () => Bokeh.documents[0].is_idle;
  document.dispatchEvent(new CustomEvent('spillway-all', { detail }));
  await Promise.all(detail.parts);
  while (detail.parts.length && !idle()) await new Promise((done) => setTimeout(done, 50));
}
async function save(kind, name, only) {
  await whole();
  keep(await together(kind, only), `${name}.${kind}`);
}
async function unpack(bytes, packed) {
  if (!packed) return new Blob([bytes], { type: 'application/zip' });
  const text = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(text).blob();
}
function keep(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
export function render({ model, view }) {
  const wanted = ['ArrowLeft', 'ArrowRight', 'Home', 'End', 'Escape', ...'[]/?aecpbgnskowm '];
  let typed = null;
  const pressed = (at) => at && (at.tabIndex >= 0) && at.tagName !== 'BODY';
  document.addEventListener('keydown', (event) => {
    const at = event.composedPath()[0];
    const typing = at && (at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName));
    if (typing && event.key === 'Enter') setTimeout(() => at.blur());  // keys are the page's again
    if (typed && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      type(event);
      return;
    }
    const undo = (event.ctrlKey || event.metaKey) && event.key === 'z' && !event.shiftKey;
    if (undo && !typing) {
      event.preventDefault();
      model.send_msg({ key: 'undo' });
    }
    if (event.defaultPrevented) return;  // a slider in focus has taken it
    if (event.ctrlKey || event.metaKey || event.altKey || !wanted.includes(event.key)) return;
    if (typing && !(event.key === 'Escape')) return;
    if (event.key === ' ' && pressed(at)) return;  // a button takes it
    if (typing) at.blur();
    const modal = document.getElementById('pn-Modal');
    if (event.key === 'Escape' && modal && modal.style.display === 'block') {
      modal.style.display = 'none';
      return;
    }
    event.preventDefault();
    const detail = { key: event.key, page: view.model.document };
    const moved = new CustomEvent('spillway-key', { detail, cancelable: true });
    if (!document.dispatchEvent(moved)) return;  // the cursor has moved
    if (event.key === '/') {
      typed = { text: '', entered: false };
      search(50);
    }
    else model.send_msg({ key: event.key });
  });
  document.addEventListener('click', (event) => {  // what a tap hides keeps its words on screen
    const path = event.composedPath(), at = path.findIndex((on) => on.tagName === 'BUTTON');
    for (const on of at < 0 ? [] : path.slice(at, at + 4))
      if (on instanceof Element) on.dispatchEvent(new MouseEvent('mouseleave'));
  });
  document.addEventListener('focusin', (event) => {  // typing replaces what a field holds
    const at = event.composedPath()[0];
    if (at && at.tagName === 'INPUT' && at.type === 'text') at.select();
  });
  // The field is beside the graph, which comes when it is wanted; what is typed meanwhile is its.
  function search(times) {
    if (!typed) return;
    const input = focusSearch(document);
    if (!input && times) {
      document.dispatchEvent(new CustomEvent('spillway-want', { detail: 'graph' }));
      setTimeout(search, 100, times - 1);
      return;
    }
    const { text, entered } = typed;
    typed = null;
    if (!input || !text) return;
    input.value = text;
    input.dispatchEvent(new Event('input', { bubbles: true }));
    if (entered) input.dispatchEvent(new Event('change', { bubbles: true }));
    else input.setSelectionRange(text.length, text.length);
  }
  function type({ key }) {
    if (key.length === 1) typed.text += key;
    else if (key === 'Backspace') typed.text = typed.text.slice(0, -1);
    else if (key === 'Enter') typed.entered = true;
    else if (key === 'Escape') typed = null;
  }
  function focusSearch(root) {
    for (const node of root.querySelectorAll('*')) {
      if (node.shadowRoot) {
        if (node.classList.contains('dag-search')) {
          const input = node.shadowRoot.querySelector('input');
          if (input) { input.focus(); input.select(); return input; }
        }
        const inner = focusSearch(node.shadowRoot);
        if (inner) return inner;
      }
    }
    return null;
  }
  // What is planned is history: Back goes to the plan before. Views are not.
  const fields = ['model', 'machine', 'budget', 'planner'];
  const planned = (query) => fields.map((name) => query.get(name)).join();
  let before = planned(new URLSearchParams(model.first)), popped = false, visits = 0;
  window.addEventListener('popstate', () => {
    popped = true;  // The server answers with the address that this one has.
    visits += 1;
    model.send_msg({ key: `visit:${window.location.search}` });
  });
  model.on('msg:custom', (event) => {
    const message = event.data || event;
    if (message.visits === visits) {  // else it was said before the server had heard of the last
      const url = new URL(window.location.href);
      const query = new URLSearchParams(message.address);
      const version = url.searchParams.get('v');
      const older = version !== null && version !== query.get('v');
      const gone = ['expanded', 'pinned', 'selection', 'wishes'];
      for (const key of [...url.searchParams.keys()])
        if (!query.has(key) && !['theme', 'tour'].includes(key)
            && (older || key.includes('.') || gone.includes(key))) url.searchParams.delete(key);
      for (const [key, value] of query) url.searchParams.set(key, value);
      const now = planned(query), is_new = now !== before && !popped;
      window.history[is_new ? 'pushState' : 'replaceState']({}, '', url);
      [before, popped] = [now, false];
    }
    if (message.file !== undefined) {
      const bytes = Uint8Array.from(atob(message.file), (letter) => letter.charCodeAt(0));
      unpack(bytes, message.packed).then((blob) => keep(blob, message.name));
    }
    if (message.picture !== undefined) save(message.picture, message.name, message.only);
    if (message.copy !== undefined && navigator.clipboard)
      navigator.clipboard.writeText(message.copy).catch(() => {});
  });
  return document.createElement('span');
}
"""
