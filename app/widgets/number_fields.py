"""A small component: numbers in groups, each a text field with a word on what is wrong with it."""

from __future__ import annotations

from typing import ClassVar

import param

from app.widgets.rows import Sender


class NumberFields(Sender):
    """A field for each row; Enter, Tab or a tap elsewhere sends `NAME TEXT`, Escape takes back."""

    rows = param.List(default=[], item_type=dict, doc="What `app.model.machines.Row` has.")

    _esm = """
export function render({ model }) {
  const root = document.createElement('div');
  let parts = new Map();
  function make(tag, className, text = '') {
    const made = document.createElement(tag);
    made.className = className; made.textContent = text;
    return made;
  }
  function field(row) {
    const line = make('div', 'line'), label = make('label', 'name', row.label);
    const input = make('input', 'number'), dot = make('span', 'dot', '●');
    const about = make('div', 'about');
    input.type = 'text'; input.id = row.name; label.htmlFor = row.name;
    input.autocomplete = 'off'; input.spellcheck = false;
    about.id = 'about-' + row.name; dot.setAttribute('aria-hidden', 'true');
    input.setAttribute('aria-describedby', about.id);
    const part = { row, input, dot, about, dirty: false };
    const commit = () => {
      if (!part.dirty) return;
      part.dirty = false;
      model.send_msg({ key: `${row.name} ${input.value}` });
    };
    input.addEventListener('input', () => { part.dirty = true; });
    input.addEventListener('change', commit);
    input.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') commit();
      else if (event.key === 'Escape') { part.dirty = false; input.value = part.row.text; }
      else return;
      event.preventDefault(); event.stopPropagation();
    });
    line.append(label, input, dot, about);
    parts.set(row.name, part);
    return line;
  }
  function show(row) {
    const part = parts.get(row.name);
    part.row = row;
    if (!part.dirty) part.input.value = row.text;  // never what somebody is typing
    part.input.title = `${row.source ? row.source + '. ' : ''}The preset has ${row.preset}; `
      + `write e.g. ${row.example}, or nothing for the preset's.`;
    part.input.setAttribute('aria-label', `${row.group}: ${row.label}`);
    part.input.setAttribute('aria-invalid', String(Boolean(row.wrong)));
    part.input.classList.toggle('wrong', Boolean(row.wrong));
    part.dot.style.visibility = row.changed ? 'visible' : 'hidden';
    const said = row.wrong || (row.changed ? `the preset has ${row.preset}` : '');
    if (part.about.textContent !== said) part.about.textContent = said;
    part.about.className = row.wrong ? 'about wrong' : 'about';
    if (row.wrong) part.about.setAttribute('role', 'alert');
    else part.about.removeAttribute('role');
  }
  function draw() {
    const names = model.rows.map((row) => row.name);
    const same = names.length === parts.size && names.every((name) => parts.has(name));
    if (!same) {
      parts = new Map();
      const groups = new Map();
      for (const row of model.rows) {
        if (!groups.has(row.group)) {
          const group = make('div', 'group');
          group.setAttribute('role', 'group'); group.setAttribute('aria-label', row.group);
          group.append(make('div', 'title', row.group));
          groups.set(row.group, group);
        }
        groups.get(row.group).append(field(row));
      }
      root.replaceChildren(...groups.values());
    }
    model.rows.forEach(show);
  }
  model.on('rows', draw);
  draw();
  return root;
}
"""
    _stylesheets: ClassVar[list[str]] = [
        """
:host { font: 12px var(--sw-font); color: var(--sw-text); }
.title { font-weight: 650; margin: 5px 0 2px; }
.line { display: grid; grid-template-columns: 1fr 116px 12px; align-items: center;
  column-gap: 5px; margin: 0 0 2px; }
.name { font-size: 11.5px; color: var(--sw-faint); }
input { box-sizing: border-box; width: 100%; height: 24px; padding: 1px 6px; font: inherit;
  color: inherit; background: var(--sw-panel); border: 1px solid var(--sw-faint);
  border-radius: 4px; }
input:focus { outline: 2px solid var(--sw-accent); }
input.wrong { border-color: var(--sw-alarm); }
.dot { color: var(--sw-accent); font-size: 10px; }
.about { grid-column: 1 / -1; font-size: 11px; line-height: 1.35; color: var(--sw-faint);
  text-align: right; padding-right: 17px; }
.about.wrong { color: var(--sw-alarm); font-weight: 600; text-align: left; }
.about:empty { display: none; }
"""
    ]
