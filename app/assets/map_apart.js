let at = 0;
const taken = [];  // of tensors that lie over each other: names of those before, in pixels
const apart = (i, half) => {
  const x = (left[i] + right[i]) / 2 * wide, middle = (bottom[i] + top[i]) / 2 * high;
  const free = (y) => taken.every(([tx, ty, th]) =>
    Math.abs(x - tx) >= half + th || Math.abs(y - ty) >= 13);
  const reach = (top[i] - bottom[i]) * high / 2 - 6.5;
  for (let off = 0; off <= reach; off += 6.5) for (const y of [middle + off, middle - off]) {
    if (!free(y)) continue;
    taken.push([x, y, half]);
    at = y / high;
    return true;
  }
  return false;
};
