// Until the views are there: a still picture of the plan that this browser has seen last, else, on a
// page without a link, of the one that comes.
(() => {
  const KEY = 'spillway-last', LONGEST = 500000;  // characters of what is kept
  const main = document.getElementById('main'), root = document.documentElement;
  const part = (tag, values) => Object.assign(document.createElement(tag), values);

  // ---- shown until the first step is told ------------------------------------------------------
  function kept() {
    try {
      const last = JSON.parse(localStorage.getItem(KEY));
      return last && last.picture.startsWith('data:image/') && last.theme === root.dataset.theme
        ? last : null;
    } catch {
      return null;  // nothing may be kept here, or it is of another version
    }
  }
  const first = document.getElementById('first-picture');
  const still = first ? JSON.parse(first.textContent) : kept();
  const box = part('div', { className: first ? 'coming first' : 'coming' });
  box.setAttribute('role', 'status');
  if (first) box.append(part('p', { className: 'verdict-ahead', textContent: still.words }));
  box.append(part('p', { textContent: first ? 'A still picture of it: the page is on its way …'
    : still ? `The page is on its way. Last seen here: ${still.words}` : 'The page is on its way …' }));
  if (still) box.append(part('img', { src: still.picture, alt: '' }));
  main.prepend(box);
  document.addEventListener('spillway-step', ({ detail }) => { if (detail.now) box.remove(); });

  // ---- kept when the page is left --------------------------------------------------------------
  function mapIn(view) {
    return (view.model.css_classes || []).includes('address-map') ? view
      : (view.child_views || []).map(mapIn).find(Boolean);
  }
  function keep() {
    if (box.isConnected || !window.Bokeh || root.dataset.presenter) return;
    const map = Bokeh.index.roots.map(mapIn).find(Boolean), said = within(document, 'verdict');
    if (!map || !said) return;
    const picture = map.export('png', false).canvas.toDataURL('image/webp', 0.6);
    if (picture.length > LONGEST) return;
    const words = said.textContent, theme = root.dataset.theme;
    try {
      localStorage.setItem(KEY, JSON.stringify({ picture, words, theme }));
    } catch { /* no room, or not allowed: the next page begins without a picture */ }
  }
  window.addEventListener('pagehide', keep);
  document.addEventListener('visibilitychange', () => { if (document.hidden) keep(); });
})();
