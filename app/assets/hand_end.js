const hit = held.tags.length ? held.tags[0] : -1, h = held.data;
if (hit < 0 || !h.left.length) return;
held.tags = [-1];
const number = h.number[0], offset = h.bottom[0];
if (stays.data.fixed[hit] || offset === stays.data.bottom[hit]) {
  for (const name in h) h[name] = [];
  for (const name in clash.data) clash.data[name] = [];
  held.change.emit(); clash.change.emit();
  if (!stays.data.fixed[hit]) return;  // it is where it was; of a fixed one the reason is told
}
dropped.data = { number: [number], offset: [offset], at: [Date.now()] };
