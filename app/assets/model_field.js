const MOST = 40;
export function render({ model }) {
  const root = document.createElement('div');
  const label = document.createElement('label');
  const input = document.createElement('input');
  const menu = document.createElement('div');
  label.textContent = model.label; label.htmlFor = 'name';
  input.id = 'name'; input.type = 'text'; input.value = model.value;
  input.autocomplete = 'off'; input.spellcheck = false;
  input.placeholder = 'resnet50, timm:nasnetalarge';
  input.setAttribute('role', 'combobox'); input.setAttribute('aria-expanded', 'false');
  menu.className = 'bk-menu'; menu.hidden = true; menu.setAttribute('role', 'listbox');
  let at = -1, found = [];
  function suggest() {
    const text = input.value.trim().toLowerCase();
    const rank = (name) => name === text ? 0 : name.startsWith(text) ? 1 : 2;
    found = text ? model.options.filter((name) => name.toLowerCase().includes(text)) : [];
    found.sort((a, b) => rank(a) - rank(b));
    found = found.slice(0, MOST); at = -1;
    menu.replaceChildren(...found.map((name) => {
      const item = document.createElement('div');
      item.textContent = name; item.setAttribute('role', 'option');
      item.onmousedown = (event) => { event.preventDefault(); input.value = name; commit(); };
      return item;
    }));
    open(found.length > 0);
  }
  function open(on) {
    menu.hidden = !on; input.setAttribute('aria-expanded', String(on));
  }
  function move(by) {
    if (menu.hidden) suggest();
    at = Math.max(-1, Math.min(found.length - 1, at + by));
    [...menu.children].forEach((item, i) => item.classList.toggle('active', i === at));
    if (at >= 0) menu.children[at].scrollIntoView({ block: 'nearest' });
  }
  function commit() {
    open(false);
    const name = input.value.trim();
    if (name && name !== model.value) model.send_msg({ key: name });
    else input.value = model.value;
  }
  input.addEventListener('input', suggest);
  input.addEventListener('blur', commit);
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault(); event.stopPropagation(); move(event.key === 'ArrowDown' ? 1 : -1);
    } else if (event.key === 'Enter') {
      if (!menu.hidden && at >= 0) input.value = found[at];
      else if (!menu.hidden && found.length === 1) input.value = found[0];
      commit(); input.blur();  // keys are the page's again
    } else if (event.key === 'Escape') {
      input.value = model.value; open(false);
    }
  });
  let fresh = false;  // a first click selects all; its release would put a caret instead
  input.addEventListener('focus', () => { fresh = true; input.select(); });
  input.addEventListener('mouseup', (event) => {
    if (fresh) { event.preventDefault(); input.select(); }
    fresh = false;
  });
  model.on('value', () => { if (input.value !== model.value) input.value = model.value; });
  root.append(label, input, menu);
  return root;
}
