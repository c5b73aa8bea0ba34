const BELOW = 44;  // pixels: the line of the cursor stays over whatever is scrolled

export function render({ model }) {
  const mark = document.createElement('span');
  mark.tabIndex = -1;
  const scroll = () => {
    const panel = mark.getRootNode().host;
    if (!panel) return;
    panel.style.scrollMarginTop = `${BELOW}px`;
    panel.scrollIntoView({ block: 'start' });
    const { userActivation } = navigator;  // not where a link opens the page with it
    if (!userActivation || userActivation.hasBeenActive) mark.focus({ preventScroll: true });
  };
  const later = () => requestAnimationFrame(() => requestAnimationFrame(scroll));
  model.on('asked', later);
  if (model.asked) later();
  return mark;
}
