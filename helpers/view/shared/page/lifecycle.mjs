// A widget on its page: which of its kind it is, when its room changes, and where its whole state is one spec, how it follows links and
// its kernel, and says to both sides what it came to.
const STILL = 400; // ms: what is still on its way is not read out

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

// The spec on show: the state, unless the widget has a `whole()` that knows better.
const whole = (widget) => widget.whole?.() ?? { ...widget.s };

// A kernel is told the spec at once; a screen reader what the nodes say, when nothing has moved for `after` ms, with 0 at once.
export function landed(widget, nodes, after = STILL) {
  const { parts, model, live } = widget;
  const say = () => {
    parts.said.textContent = nodes.map(({ textContent }) => textContent).join(" ");
  };
  clearTimeout(widget.timer);
  if (after) widget.timer = setTimeout(say, after);
  else say();
  if (!live) return;
  model.set("spec", whole(widget));
  model.save_changes();
}

// Follows the link in the address, now and whenever it changes, and the spec that a kernel sets.
// decode(hash, index): a spec or null; fits(spec); unfit: what is said of one that does not; show(widget, spec).
// ends: what else has to end. -> what ends all of it, and what waits to be said
export function follow(widget, { decode, fits, show, unfit = "cannot be drawn" }, ...ends) {
  const { model, live, index, parts } = widget;
  const hash = () => {
    const linked = live ? null : decode(location.hash, index);
    if (linked && fits(linked)) show(widget, linked);
    else if (linked) parts.notice.textContent = `This link asks for something that ${unfit}.`;
  };
  const spec = () => {
    const told = model.get("spec");
    if (JSON.stringify(told) !== JSON.stringify(whole(widget))) show(widget, told);
  };
  window.addEventListener("hashchange", hash);
  model.on("change:spec", spec);
  hash();
  return () => {
    clearTimeout(widget.timer);
    window.removeEventListener("hashchange", hash);
    model.off("change:spec", spec);
    ends.forEach((end) => end());
  };
}
