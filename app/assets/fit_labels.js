if (plot.properties.inner_width.is_unset) return;  // not laid out yet: its width comes
const look = getComputedStyle(document.documentElement);
const scale = Number(look.getPropertyValue('--sw-scale')) || 1;  // larger while it is presented
const px = plot.inner_width / (range.end - range.start) * 0.80 / scale;
const up = plot.y_range, high = plot.properties.inner_height.is_unset ? 99
  : plot.inner_height / Math.abs(up.end - up.start) * 0.66 / scale;
const known = [px.toPrecision(6), high.toPrecision(4), source.data.full, tabs.data.name,
  frames.data.block];
if (source.fitted && known.every((value, i) => value === source.fitted[i])) return;
source.fitted = known;  // panning changes no name
const room = (size) => Math.floor((px - 4) / size);
// What tells names apart comes first: features.14.conv is 14.conv in a frame, conv2d_51 is #51.
const apart = (s, letters) => {
  const dot = s.indexOf('.'), number = s.match(/^[^.]*_([0-9]+)$/);
  if (s.length <= letters || (dot < 0 && !number)) return s;
  return number ? '#' + number[1] : apart(s.slice(dot + 1), letters);
};
const cut = (name, letters, s = apart(name, letters)) => letters < 3 ? '' : s.length <= letters ? s
  : letters < 7 ? s.slice(0, letters - 1) + '…'
  : s.slice(0, letters - 1 - ((letters - 1) >> 1)) + '…' + s.slice(s.length - ((letters - 1) >> 1));
const brief = (s, letters) => s.length <= letters ? s  // max_pool2d is a pool, conv2d a conv
  : cut(/^[a-z0-9_]+$/.test(s) ? s.split('_').at(-1).replace(/[0-9]+d?$/, '') || s
    : s.replace(/ operators?$/, ' ops'), letters);
const call = (s, letters) => s.replace(/^.*call ([0-9]+) of ([0-9]+)$/,
  (_, k, n) => k.length + n.length < letters ? k + '/' + n : k);
const named = (s, letters) => s.length <= letters ? s : cut(call(s, letters), letters);
const data = source.data;
const on = (words, dark, size, fit) =>
  words.map((s, i) => data.dark[i] === dark && high >= (size > 5.5 ? 11 : 24)
    ? fit(s, room(size)) : '');
data.name_dark = on(data.full, true, 5.9, named);
data.name_light = on(data.full, false, 5.9, named);
data.kind_dark = on(data.second, true, 5.1, brief);
data.kind_light = on(data.second, false, 5.1, brief);
source.change.emit();
const names = tabs.data;
const fits = (s, i) => s.length * 6.2 < (names.room[i] - 0.2) * px / 0.8 ? s : '';
names.on_dark = names.name.map((s, i) => names.dark[i] ? fits(s, i) : '');
names.on_light = names.name.map((s, i) => names.dark[i] ? '' : fits(s, i));
tabs.change.emit();
const around = frames.data;
around.text = around.block.map((s, i) => high < 8 ? ''  // it would lie under the boxes
  : cut('⊟ ' + s, Math.floor(((around.right[i] - around.left[i]) * px / 0.80 - 6) / 5.6)));
frames.change.emit();
