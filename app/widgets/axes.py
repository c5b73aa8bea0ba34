"""What axes of addresses and of seconds have in common: width, ticks, and words at the ticks."""

from __future__ import annotations

AXIS_WIDTH = 82
"""Pixels left of views that share their steps or times."""
KIB_TICKS = [2**i for i in range(10)]
FORMAT_ADDRESS = """
if (unit.tags[0] == 'hex') return '0x' + Math.round(tick).toString(16).toUpperCase();
if (high.end < 4096 || tick % 256) return tick.toLocaleString('en') + ' B';
if (high.end >= 33554432) return (tick / 1048576).toLocaleString('en',
  {maximumFractionDigits: 2}) + ' MiB';
const kib = tick / 1024;
return kib.toLocaleString('en') + ' KiB';
"""
FORMAT_SECONDS = """
const [scale, unit] = range.end < 2e-3 ? [1e6, 'µs'] : range.end < 2 ? [1e3, 'ms'] : [1, 's'];
const digits = Math.ceil(1 - Math.log10((range.end - range.start) * scale));
const maximumFractionDigits = Math.min(9, Math.max(0, digits));
return (tick * scale).toLocaleString('en', {maximumFractionDigits}) + ' ' + unit;
"""
