"""What axes of addresses and of seconds have in common: width, ticks, and words at the ticks."""

from __future__ import annotations

AXIS_WIDTH = 82
"""Pixels left of views that share their steps or times."""
KIB_TICKS = [2**i for i in range(10)]
FORMAT_ADDRESS = """
if (unit.tags[0] == 'hex') return '0x' + Math.round(tick).toString(16).toUpperCase();
const apart = ticks.length > 1 ? Math.abs(ticks[1] - ticks[0]) : Math.abs(tick);
for (const [name, size] of [['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10]])
  if (Math.abs(tick) >= size && apart * 8 >= size && (tick * 8) % size === 0)
    return (tick / size).toLocaleString('en', {maximumFractionDigits: 3}) + ' ' + name;
return tick.toLocaleString('en') + ' B';
"""
"""The unit of a size as everywhere (`format_bytes`); smaller where ticks are eighths or closer."""
FORMAT_STEPS = "return Number.isInteger(tick) && tick < range.end ? (tick + 1).toString() : ''"
"""Steps are counted from one, and the last is not where the axis ends."""
FORMAT_SECONDS = """
const [scale, unit] = range.end < 1e-3 ? [1e6, 'µs'] : range.end < 1 ? [1e3, 'ms'] : [1, 's'];
const digits = Math.ceil(1 - Math.log10((range.end - range.start) * scale));
const maximumFractionDigits = Math.min(9, Math.max(0, digits));
return (tick * scale).toLocaleString('en', {maximumFractionDigits}) + ' ' + unit;
"""
