// A file that is dropped goes to the field for files under it, or to that of the sidebar; what cannot
// be taken is said.
const WAIT_MS = 30000;

export function render({ model }) {
  const LOOK = `position: fixed; inset: 0; z-index: 9000; display: flex; align-items: center;
    justify-content: center; text-align: center; font: 600 22px/1.5 var(--sw-font);
    background: rgba(8, 14, 20, .62); color: #fff; border: 4px dashed #E69F00;
    box-sizing: border-box; pointer-events: none; white-space: pre-line;`;
  let veil = null, away = 0;
  const fieldUnder = (event) => event.composedPath().find((on) =>
    on.classList && on.classList.contains('file-field'));
  const ours = (event) => event.dataTransfer && (fieldUnder(event)
    || !event.composedPath().some((on) => /^(INPUT|TEXTAREA)$/.test(on.tagName)));
  function hide() {
    clearTimeout(away);
    if (veil) veil.remove();
    veil = null;
  }
  function over(event) {
    if (!ours(event)) { hide(); return; }
    event.preventDefault();
    if (fieldUnder(event)) { hide(); return; }
    if (!veil) {
      veil = document.createElement('div');
      veil.className = 'drop-here';
      veil.style.cssText = LOOK;
      veil.textContent = model.words;
      document.body.append(veil);
    }
    clearTimeout(away);
    away = setTimeout(hide, 400);  // a drag that leaves the window says nothing
  }
  const wrong = (text) => model.send_msg({ wrong: text });
  function dropped(event) {
    hide();
    if (!ours(event)) return;
    event.preventDefault();
    const { items, files } = event.dataTransfer;
    const entries = [...items].map((item) => item.webkitGetAsEntry && item.webkitGetAsEntry());
    const link = event.dataTransfer.getData('text/uri-list') || event.dataTransfer.getData('text/plain');
    if (entries.some((entry) => entry && entry.isDirectory))
      return wrong('That is a folder: drop one file.');
    if (!files.length) {
      const query = /^(https?:[^?\s]*)?\?\S+$/.test(link.trim()) && link.trim();
      return query ? model.send_msg({ link: query })
        : wrong('Nothing there to read: drop a file, or a link to a plan.');
    }
    if (files.length > 1)
      return wrong(`${files.length} files at once: drop one, such as ${files[0].name}.`);
    const data = new DataTransfer();
    data.items.add(files[0]);
    const field = fieldUnder(event);
    if (!field) document.dispatchEvent(new CustomEvent('spillway-want', { detail: 'sidebar' }));
    hand(data, performance.now() + WAIT_MS, field);
  }
  function hand(data, until, under) {  // to the field, which may be on its way
    const upload = under ? null : within(document, 'upload');
    const field = under || (upload && upload.shadowRoot);
    const input = field && field.querySelector('input[type=file]');
    if (input) {
      input.files = data.files;
      input.dispatchEvent(new Event('change', { bubbles: true }));
    } else if (performance.now() < until) setTimeout(hand, 100, data, until, under);
    else wrong('The field for files did not appear: open the sidebar, and drop the file again.');
  }
  const listening = { dragover: over, dragenter: over, drop: dropped };
  for (const [name, act] of Object.entries(listening)) document.addEventListener(name, act);
  model.on('remove', () => {
    hide();
    for (const [name, act] of Object.entries(listening)) document.removeEventListener(name, act);
  });
  return document.createElement('span');
}
