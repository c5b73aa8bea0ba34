const on = stays.data.left.length > 0;
for (const tool of plot.toolbar.tools) {
  if (tool.type === 'HoverTool') tool.active = !on;  // it would lie over what is dragged
  if (!['PanTool', 'BoxZoomTool'].includes(tool.type)) continue;
  if (on) { if (tool.active) { tool.active = false; plot.tags = [tool.id]; } }
  else if (plot.tags.includes(tool.id)) { tool.active = true; plot.tags = []; }
}
