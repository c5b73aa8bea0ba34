// The first element of each class, in whatever shadow tree, by one walk that ends once all are found.
function firsts(root, names) {
  const found = {}, left = new Set(names);
  const walk = (tree) => {
    for (const node of tree.querySelectorAll('*')) {
      for (const name of node.classList) {
        if (left.delete(name)) found[name] = node;
      }
      if (left.size && node.shadowRoot) walk(node.shadowRoot);
      if (!left.size) return;
    }
  };
  walk(root);
  return found;
}
function within(root, name) {
  return firsts(root, [name])[name] || null;
}
