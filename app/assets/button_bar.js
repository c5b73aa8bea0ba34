export function render({ model }) {
  const row = document.createElement('div'), made = new Map();
  row.className = 'button-bar';
  function one(name, here) {
    const place = document.createElement('span'), button = document.createElement('button');
    place.className = name;
    button.type = 'button';
    if (!here) button.onclick = () => model.send_msg({ key: name });
    place.append(button);
    row.append(place);
    made.set(name, button);
    return button;
  }
  function draw() {
    for (const { name, label, about, here, ...look } of model.buttons) {
      const button = made.get(name) || one(name, here), place = button.parentNode;
      button.textContent = label;
      button.title = about;
      if (/[A-Za-z]{2}/.test(label)) button.removeAttribute('aria-label');
      else button.setAttribute('aria-label', about);
      if (look.down !== undefined) button.setAttribute('aria-pressed', String(look.down));
      button.disabled = Boolean(look.off);
      button.classList.toggle('danger', Boolean(look.danger));
      place.classList.toggle('end', Boolean(look.end));
      place.hidden = look.shown === false;
    }
  }
  model.on('buttons', draw);
  draw();
  return row;
}
