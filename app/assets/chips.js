export function render({ model }) {
  const root = document.createElement('div');
  function button(text, className, label, key) {
    const made = document.createElement('button');
    made.type = 'button'; made.className = className; made.textContent = text;
    made.setAttribute('aria-label', label); made.title = label;
    made.onclick = () => model.send_msg({ key });
    return made;
  }
  function draw() {
    root.replaceChildren(...model.names.map((name) => {
      const chip = document.createElement('span');
      chip.className = 'chip';
      chip.append(button(name, 'name', `show ${name} in the graph`, `pick ${name}`));
      if (model.removable) chip.append(button('×', 'cross', `no break at ${name}`, `take ${name}`));
      return chip;
    }));
    if (model.removable && model.names.length > 1)
      root.append(button('remove all', 'all', 'remove all break nodes', 'clear'));
  }
  model.on(['names', 'removable'], draw);
  draw();
  return root;
}
