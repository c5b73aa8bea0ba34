export function render({ model }) {
  const mark = document.createElement('span');
  const want = () => { watch.disconnect(); model.wanted = true; };
  const near = { rootMargin: '20px', scrollMargin: '20px' };
  const watch = new IntersectionObserver((seen) => {
    if (seen.some((entry) => entry.isIntersecting)) want();
  }, near);
  requestAnimationFrame(() => watch.observe(mark.getRootNode().host));
  const gone = new Promise((done) => { model.on('remove', done); });
  const asked = (event) => { event.detail.parts.push(gone); want(); };
  const named = ({ detail }) => { if (detail === model.part) want(); };
  document.addEventListener('spillway-all', asked);
  document.addEventListener('spillway-want', named);
  gone.then(() => {
    watch.disconnect();
    document.removeEventListener('spillway-all', asked);
    document.removeEventListener('spillway-want', named);
    document.dispatchEvent(new CustomEvent('spillway-more'));
  });
  return mark;
}
