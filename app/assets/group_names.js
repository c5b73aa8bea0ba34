if (plot.properties.inner_width.is_unset) return;  // it is not laid out yet
const wide = plot.inner_width / (range.end - range.start);
const data = source.data;
const fits = (i) => (data.right[i] - data.left[i]) * wide > 6.4 * data.name[i].length + 3;
for (const ink of ['dark', 'light'])
  data[ink] = data.name.map((name, i) => data.ink[i] === ink && fits(i) ? name : '');
source.change.emit();
