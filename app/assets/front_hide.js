// A click on a planner's name hides its points and its front, or shows them again.
const { model: legend, item } = cb_obj, { name } = item, hidden = legend.tags.includes(name);
legend.tags = hidden ? legend.tags.filter((other) => other !== name) : [...legend.tags, name];
const said = item.label.value.replace(/^✕ /, '');
item.label = { value: hidden ? said : `✕ ${said}` };
seen.change.emit();
