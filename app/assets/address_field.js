export function render({ model }) {
  const field = document.createElement('input');
  field.type = 'text';
  const show = () => {
    field.value = model.text;
    field.disabled = model.locked;
    field.setAttribute('aria-label', `address of ${model.name_of}`);
    field.title = 'an address such as 0x4000 or 16 KiB, then Enter; ↑ and ↓ move it by '
      + `${model.nudge} bytes`;
  };
  field.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') model.send_msg({ key: 'to ' + field.value });
    else if (event.key === 'ArrowUp') model.send_msg({ key: 'by ' + model.nudge });
    else if (event.key === 'ArrowDown') model.send_msg({ key: 'by -' + model.nudge });
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  model.on(['text', 'locked', 'name_of', 'nudge'], show);
  show();
  return field;
}
