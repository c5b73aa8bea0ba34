export function render({ model }) {
  const root = document.createElement('span');
  const button = document.createElement('button');
  button.textContent = 'Copy link';
  button.title = 'a link to this problem, plan and view';
  const say = document.createElement('div');
  say.className = 'copy-link-said';
  say.style.cssText = `position: fixed; right: 12px; top: 46px; z-index: 1001; max-width: 460px;
    background: var(--sw-panel); color: var(--sw-text); border: 1px solid var(--sw-grid);
    border-radius: 6px; padding: 8px 12px; font: 12.5px/1.45 var(--sw-font);
    box-shadow: 0 4px 16px rgba(0, 0, 0, .3)`;
  say.setAttribute('role', 'status');
  say.hidden = true;
  function show(words, text) {
    say.replaceChildren(words);
    if (text) {
      const field = document.createElement('input');
      field.readOnly = true;
      field.value = text;
      field.setAttribute('aria-label', 'link');
      field.style.cssText = 'display: block; width: 430px; max-width: 100%; margin: 6px 0';
      say.append(field);
    }
    if (model.left_out) say.append(`Not in the link: ${model.left_out}.`);
    say.hidden = false;
    if (text) { say.querySelector('input').focus(); say.querySelector('input').select(); }
  }
  function link() {
    const url = new URL(window.location.href);
    const given = new URLSearchParams(model.query);
    const theme = url.searchParams.get('theme');
    if (theme) given.set('theme', theme);
    url.search = given.toString();
    return url.href;
  }
  button.onclick = async () => {
    const text = link();
    try {
      await navigator.clipboard.writeText(text);
      show('Link copied. ');
      clearTimeout(root.gone);
      root.gone = setTimeout(() => { say.hidden = true; }, model.left_out ? 9000 : 2500);
    } catch {
      show('The browser does not allow copying: copy the link with the keyboard.', text);
    }
  };
  const leave = (event) => { if (event.key === 'Escape') say.hidden = true; };
  root.onkeydown = say.onkeydown = leave;
  root.append(button);
  document.body.append(say);  // the header would cut it off
  return root;
}
