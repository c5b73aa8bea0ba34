const LOST = 'The connection to the server is lost. What is on screen stays, but cannot change.';
const BACK = 'The server can be reached again.';
const LOOK = `position: fixed; left: 0; right: 0; bottom: 0; z-index: 10000; padding: 10px 16px;
  display: flex; gap: 14px; align-items: center; font-size: 14px; background: #E69F00;
  color: #10161c; box-shadow: 0 -2px 8px rgba(0, 0, 0, 0.35);`;
function line() {
  const box = document.createElement('div');
  box.className = 'connection-lost';
  box.setAttribute('role', 'alert');
  box.style.cssText = LOOK;
  const text = document.createElement('span');
  const button = document.createElement('button');
  button.style.cssText = 'font: inherit; padding: 2px 12px; cursor: pointer;';
  button.onclick = () => window.location.reload();
  box.append(text, button);
  document.body.append(box);
  return { box, text, button };
}
async function there() {
  try {
    return (await fetch(window.location.href, { method: 'GET', cache: 'no-store' })).ok;
  } catch {
    return false;
  }
}
async function wait() {
  const { text, button } = line();
  text.textContent = LOST;
  button.textContent = 'Reload';
  while (!(await there())) await new Promise((done) => setTimeout(done, 2000));
  text.textContent = `${BACK} Reload: the same problem is planned again, or comes from the cache.`;
  button.focus();
}
export function render({ view }) {
  let lost = false;
  view.model.document.on_event('connection_lost', () => {
    if (!lost) { lost = true; wait(); }
  });
  window.addEventListener('beforeunload', () => { lost = true; });
  return document.createElement('span');
}
