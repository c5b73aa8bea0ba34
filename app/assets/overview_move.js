const middle = (range) => (range.start + range.end) / 2;
const inside = seen.start <= cb_obj.x && cb_obj.x <= seen.end;
if (cb_obj.event_name === 'panstart') window_.tags = inside
  ? [cb_obj.x - middle(seen), cb_obj.y - middle(up)] : [0, 0];
const [right, down] = cb_obj.event_name === 'tap' ? [0, 0] : window_.tags;
const move = (range, whole, to) => {  // the graph's rows count downwards: its range is reversed
  const half = (range.end - range.start) / 2, most = (whole.end - whole.start) / 2;
  const free = Math.max(0, Math.abs(most) - Math.abs(half)), rest = middle(whole);
  const at = Math.min(rest + free, Math.max(rest - free, to));
  range.setv({ start: at - half, end: at + half });
};
move(seen, all, cb_obj.x - right);
move(up, all_up, cb_obj.y - down);
