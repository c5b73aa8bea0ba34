if (!stays.data.left.length) return;
const d = stays.data;
let hit = -1;
for (let i = 0; i < d.left.length; i++)
  if (d.left[i] <= cb_obj.x && cb_obj.x < d.right[i] && d.bottom[i] <= cb_obj.y
    && cb_obj.y < d.top[i]) hit = i;
const h = held.data;
for (const name in h) h[name] = [];
for (const name in clash.data) clash.data[name] = [];
if (hit >= 0) {
  for (const side of ['left', 'right', 'bottom', 'top', 'number']) h[side] = [d[side][hit]];
  h.grab = [cb_obj.y - d.bottom[hit]];
  h.alpha = [d.fixed[hit] ? 0 : 0.35];
  h.text = [d.fixed[hit] ? 'cannot be moved alone' : ''];
}
held.tags = [hit];
held.change.emit(); clash.change.emit();
