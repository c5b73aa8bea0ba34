if (plot.properties.inner_width.is_unset) return;  // it is not laid out yet
const wide = plot.inner_width / (steps.end - steps.start);
const high = plot.inner_height / (range.end - range.start);
const { tensor, left, right, bottom, top } = source.data;
const look = getComputedStyle(document.documentElement);
const scale = Number(look.getPropertyValue('--sw-scale')) || 1;  // larger while it is presented
const known = [wide.toPrecision(6), high.toPrecision(6), tensor, scale];
if (names.fitted && known.every((value, i) => value === names.fitted[i])) return;
names.fitted = known;  // panning changes no name
let at = 0;
const taken = [];  // where tensors lie over each other: names of those before, in pixels
const apart = (i, half) => {
  const x = (left[i] + right[i]) / 2 * wide, middle = (bottom[i] + top[i]) / 2 * high;
  const free = (y) => taken.every(([tx, ty, th]) =>
    Math.abs(x - tx) >= half + th || Math.abs(y - ty) >= 13 * scale);
  const reach = (top[i] - bottom[i]) * high / 2 - 6.5 * scale;
  for (let off = 0; off <= reach; off += 6.5 * scale) for (const y of [middle + off, middle - off]) {
    if (!free(y)) continue;
    taken.push([x, y, half]);
    at = y / high;
    return true;
  }
  return false;
};
const found = { label_x: [], label_y: [], label: [] };
for (let i = 0; i < tensor.length; i++) {
  if ((top[i] - bottom[i]) * high < 13 * scale) continue;
  const letters = Math.floor(((right[i] - left[i]) * wide - 4) / 6 / scale), name = tensor[i];
  if (name.length > letters && letters < 4) continue;
  const tail = (letters - 1) >> 1;  // both ends tell a name from others
  const text = name.length <= letters ? name
    : name.slice(0, letters - 1 - tail) + '…' + name.slice(name.length - tail);
  if (!apart(i, (text.length * 3 + 3) * scale)) continue;
  found.label_x.push((left[i] + right[i]) / 2);
  found.label_y.push(at);
  found.label.push(text);
}
Object.assign(names.data, found);  // in place: the server need not hear of it
names.change.emit();
