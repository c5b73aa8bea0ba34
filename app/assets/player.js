export function render({ model }) {
  let timer = null;
  const slider = () => Bokeh.documents.map((d) => d.get_model_by_name(model.slider)).find(Boolean);
  const later = () => { timer = setTimeout(go, 1000 * model.pace); };
  const go = () => {
    const cursor = slider();
    if (!model.playing || !cursor) return;
    if (cursor.value >= cursor.end) { model.playing = false; return; }
    cursor.value = Math.round(cursor.value) + 1;
    later();
  };
  const turn = () => {
    clearTimeout(timer);
    const cursor = slider();
    if (!model.playing || !cursor) return;
    if (cursor.value >= cursor.end) cursor.value = cursor.start;
    later();
  };
  model.on('playing', turn);
  model.on('remove', () => clearTimeout(timer));
  return document.createElement('span');
}
