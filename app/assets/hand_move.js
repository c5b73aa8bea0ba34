const hit = held.tags.length ? held.tags[0] : -1, d = stays.data, h = held.data;
if (hit < 0 || !h.left.length || d.fixed[hit]) return;
const size = d.top[hit] - d.bottom[hit], [align, limit] = rules.tags;
const near = 7 * (range.end - range.start) / plot.inner_height;
const beside = [];
for (let i = 0; i < d.left.length; i++)
  if (i !== hit && d.number[i] !== d.number[hit] && d.first[i] < d.last[hit]
    && d.first[hit] < d.last[i]) beside.push(i);
let at = Math.round((cb_obj.y - h.grab[0]) / align) * align, best = near;
const edges = [0, Math.floor((limit - size) / align) * align];
for (const i of beside) edges.push(Math.ceil(d.top[i] / align) * align,
  Math.floor((d.bottom[i] - size) / align) * align);
for (const edge of edges) {
  const far = Math.abs(edge - (cb_obj.y - h.grab[0]));
  if (edge >= 0 && far < best) { best = far; at = edge; }
}
at = Math.max(0, Math.min(at, edges[1]));
h.bottom[0] = at; h.top[0] = at + size;
const c = clash.data;
for (const name in c) c[name] = [];
let over = '';
for (const i of beside) {
  if (d.top[i] <= at || at + size <= d.bottom[i]) continue;
  c.left.push(Math.max(d.left[i], d.left[hit])); c.right.push(Math.min(d.right[i], d.right[hit]));
  c.bottom.push(Math.max(d.bottom[i], at)); c.top.push(Math.min(d.top[i], at + size));
  if (!over) over = 'over ' + d.tensor[i];
}
h.alpha[0] = over ? 0.15 : 0.45;
h.text[0] = d.tensor[hit] + ' → 0x' + at.toString(16) + (over ? ', ' + over : ', free');
held.change.emit(); clash.change.emit();
