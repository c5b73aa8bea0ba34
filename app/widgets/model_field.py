"""A field for a model's name: suggests as one types, and lets any name be tried."""

from __future__ import annotations

from typing import ClassVar

import param

from app.widgets.rows import Sender


class ModelField(Sender):
    """A text field with suggestions; Enter, Tab or a tap sends the name as the key.

    What is typed is sent as it stands: only arrows and taps choose among the suggestions, or
    Enter where there is but one.
    """

    value = param.String("", doc="The name that is chosen.")
    options = param.List(default=[], item_type=str, doc="The names that are suggested.")
    label = param.String("Model", doc="What stands above the field.")

    _esm = """
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
"""
    _stylesheets: ClassVar[list[str]] = [
        """
:host { font: 12.5px var(--sw-font);
  color: var(--sw-text); position: relative; z-index: 30; }
label { display: block; font-size: 11.5px; margin: 0 0 1px; color: var(--sw-faint); }
input { box-sizing: border-box; width: 100%; height: 28px; padding: 2px 8px; font: inherit;
  color: inherit; background: var(--sw-panel); border: 1px solid #0072B2; border-radius: 4px; }
.bk-menu { position: absolute; left: 0; right: 0; max-height: 260px; overflow-y: auto; z-index: 40;
  background: var(--sw-panel); border: 1px solid var(--sw-faint); border-radius: 4px;
  box-shadow: 0 3px 12px rgba(0,0,0,.25); }
.bk-menu[hidden] { display: none; }
.bk-menu div { padding: 3px 8px; cursor: pointer; overflow-wrap: anywhere; }
.bk-menu div:hover, .bk-menu .active { background: var(--sw-hover); font-weight: 600; }
"""
    ]
