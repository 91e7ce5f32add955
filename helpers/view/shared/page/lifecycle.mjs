// A widget on its page: which of its kind it is, and when its room changes.

// Several of a kind are told apart by their order: links name them so.
export function placeOf(el) {
  const mount = el.closest(".bim-mount");
  const mounts = [...document.querySelectorAll(`.bim-mount[data-kind="${mount?.dataset.kind}"]`)];
  return Math.max(0, mounts.indexOf(mount));
}

// Calls redraw() whenever the node gets another width. -> what ends that
export function onWidth(node, redraw, width = node.clientWidth) {
  let known = width;
  const watcher = new ResizeObserver(() => {
    if (known === node.clientWidth) return;
    known = node.clientWidth;
    redraw();
  });
  watcher.observe(node);
  return () => watcher.disconnect();
}
