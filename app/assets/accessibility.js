// What makes the page usable for everybody, before and after its components are there: one style
// sheet for all of them, the system's theme, sidebar and dialog by keyboard, and pages for a printer.
(() => {
  const root = document.documentElement, byId = (id) => document.getElementById(id);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(byId('accessibility').textContent);
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (how) {  // components come later, and in other scripts
    const made = attach.call(this, how);
    made.adoptedStyleSheets = [...made.adoptedStyleSheets, sheet];
    return made;
  };

  // ---- theme -----------------------------------------------------------------------------------
  const given = new URLSearchParams(location.search).get('theme');
  const system = matchMedia('(prefers-color-scheme: dark)');
  let asked = given !== null;
  const turn = (dark) => {
    root.dataset.theme = dark ? 'dark' : 'default';
    for (const button of document.querySelectorAll('#theme-button'))
      button.setAttribute('aria-pressed', String(dark));
    for (const style of document.querySelectorAll('[data-theme-of=dark]'))
      style.media = dark ? 'all' : 'not all';
    document.dispatchEvent(new CustomEvent('spillway-theme', { detail: { dark } }));
  };
  turn(asked ? given === 'dark' : system.matches);
  system.addEventListener('change', () => { if (!asked) turn(system.matches); });

  // ---- sidebar and dialog ----------------------------------------------------------------------
  const narrow = matchMedia('(max-width: 800px)');
  function openSidebar(open) {
    byId('sidebar').classList.toggle('hidden', !open);
    byId('sidebar-button').setAttribute('aria-expanded', String(open));
    window.dispatchEvent(new Event('resize'));
  }
  const deepest = () => {
    let at = document.activeElement;
    while (at && at.shadowRoot && at.shadowRoot.activeElement) at = at.shadowRoot.activeElement;
    return at;
  };
  function watchDialog() {  // while it is open, nothing behind it is heard, seen or focused
    const dialog = byId('pn-Modal');
    let open = false, before = null;
    new MutationObserver(() => {
      const now = dialog.style.display === 'block';
      if (now === open) return;
      open = now;
      if (open) before = deepest();
      for (const id of ['header', 'sidebar', 'main']) byId(id).inert = open;
      if (open) byId('pn-closeModal').focus();
      else if (before) before.focus();
    }).observe(dialog, { attributes: true, attributeFilter: ['style'] });
    const close = () => { dialog.style.display = 'none'; };
    byId('pn-closeModal').onclick = close;
    window.addEventListener('click', (event) => { if (event.target === dialog) close(); });
  }
  document.addEventListener('DOMContentLoaded', () => {
    turn(root.dataset.theme === 'dark');  // its button is there now
    byId('theme-button').onclick = () => {
      asked = true;
      const dark = root.dataset.theme !== 'dark', url = new URL(location.href);
      url.searchParams.set('theme', dark ? 'dark' : 'default');
      history.replaceState({}, '', url);
      turn(dark);
    };
    byId('sidebar-button').onclick = () =>
      openSidebar(byId('sidebar').classList.contains('hidden'));
    narrow.addEventListener('change', () => narrow.matches && openSidebar(false));
    watchDialog();
  });

  // ---- print: all views, as wide as the window has them: the page takes their scale --------------
  const PAPER = 1040;  // pixels across a page of A4, landscape, within its margins
  window.addEventListener('beforeprint', () => {
    const wide = byId('main').scrollWidth;
    root.style.setProperty('--sw-paper', String(Math.min(1, PAPER / wide)));
    root.style.setProperty('--sw-wide', `${wide}px`);
  });
  document.addEventListener('keydown', async (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key !== 'p') return;
    event.preventDefault();
    const detail = { parts: [] };  // what is made when it comes near the window is made now
    document.dispatchEvent(new CustomEvent('spillway-all', { detail }));
    await Promise.all(detail.parts);
    while (detail.parts.length && !Bokeh.documents[0].is_idle)
      await new Promise((done) => setTimeout(done, 50));
    window.print();
  });
})();
