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
