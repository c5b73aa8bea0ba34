// The first element of a class, in whatever shadow tree.
function within(root, name) {
  for (const node of root.querySelectorAll('*')) {
    if (node.classList.contains(name)) return node;
    const inner = node.shadowRoot && within(node.shadowRoot, name);
    if (inner) return inner;
  }
  return null;
}
