// The widget `mesh`: ranks on axes; an axis lights up its groups, a rank its own. Ties state and drawing together.
import { follow, landed, placeOf } from "../shared/page/lifecycle.mjs";
import { nranksOf, refusal, words } from "./axes.mjs";
import { furniture, offer } from "./furniture.mjs";
import { decode, fits } from "./link.mjs";
import { nodesPicture } from "./ranks.mjs";

function draw(widget) {
  const { s, parts, does } = widget;
  const held = document.activeElement?.dataset?.rank;
  offer(parts, s);
  parts.stage.replaceChildren(nodesPicture(s, does));
  if (held !== undefined) parts.stage.querySelector(`[data-rank="${held}"]`)?.focus({ preventScroll: true });
  parts.refused.textContent = "";
  parts.notice.replaceChildren();
  parts.sentence.textContent = words(s);
  parts.proof.refresh();
}

function show(widget, spec) {
  widget.s = spec;
  draw(widget);
}

// A change is refused in words, and what stood there stays.
function take(widget, change) {
  const next = { ...widget.s, ...change };
  const why = refusal(next);
  if (why) {
    offer(widget.parts, widget.s);
    widget.parts.refused.textContent = why;
    return;
  }
  if (next.rank !== null && next.rank >= nranksOf(next)) next.rank = null;
  show(widget, next);
  landed(widget, [widget.parts.sentence], 0);
}

function moved(axes, axis, by) {
  const order = axes.map((one) => [...one]);
  const at = order.findIndex(([name]) => name === axis);
  const [one] = order.splice(at, 1);
  order.splice(at + by, 0, one);
  return order;
}

function doesOf(widget) {
  const change = (made) => take(widget, made);
  return {
    take: change,
    light: (axis) => change({ axis: axis === widget.s.axis ? "" : axis }),
    press: (rank) => change({ rank: rank === widget.s.rank ? null : rank }),
    resize: (axis, size) =>
      change(
        axis === "expert"
          ? { expert: size }
          : { axes: widget.s.axes.map(([name, n]) => [name, name === axis ? size : n]) },
      ),
    move: (axis, by) => {
      change({ axes: moved(widget.s.axes, axis, by) });
      const { out, into } = widget.parts.rows.find((row) => row.axis === axis);
      [by < 0 ? out : into, by < 0 ? into : out].find((one) => !one.disabled)?.focus();
    },
  };
}

function render({ model, el }) {
  const widget = { model, index: placeOf(el), live: Boolean(model.get("live")), s: model.get("spec") };
  widget.does = doesOf(widget);
  widget.parts = furniture(widget);
  el.append(widget.parts.root);
  draw(widget);
  return follow(widget, { decode, fits, show });
}

export default { render };
