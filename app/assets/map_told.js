const row = special_vars.index, { left, right, bottom, top, begin, end } = source.data;
if (format === 'word') return words.data.text[value];
if (format === 'steps')
  return `steps ${Math.floor((begin || left)[row]) + 1} – ${Math.ceil((end || right)[row])}`;
const hex = (address) => '0x' + address.toString(16);
const size = (bytes) => {
  for (const [unit, factor] of [['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10]])
    if (bytes >= factor) return `${Number((bytes / factor).toPrecision(4))} ${unit}`;
  return `${bytes} B`;
};
return `${hex(bottom[row])} – ${hex(top[row])} (${size(bottom[row])})`;
