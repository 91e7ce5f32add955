// The widget `choice`: what NCCL would choose, by size and by version. Ties state and drawing together.
import { follow, landed, onWidth, placeOf } from "../shared/page/lifecycle.mjs";
import { nbytesText } from "../shared/page/numbers.mjs";
import { chosen, compared, estimates, settled, verdict, way } from "./asked.mjs";
import { furniture, offer } from "./furniture.mjs";
import { curves, dots, stretches } from "./lines.mjs";
import { decode, fits } from "./link.mjs";
import { barsPicture, linesPicture } from "./picture.mjs";

// What another size leaves as it is.
function scene(widget) {
  const { known, published, s, parts } = widget;
  const { nbytes: _, ...asked } = s;
  const key = JSON.stringify([asked, parts.lines.clientWidth]);
  if (widget.key === key) return;
  widget.key = key;
  const strips = [s.version, s.beside].map((version) => ({ version, found: stretches(known, s, version) }));
  const told = { strips, drawn: curves(known, s), seen: dots(known, published, s) };
  const take = (grain) => widget.does.take({ nbytes: 2 ** grain });
  widget.picture = linesPicture(told, parts.lines.clientWidth, take);
  parts.lines.replaceChildren(widget.picture.node);
  offer(parts, known, s);
}

function draw(widget) {
  const { known, published, s, parts } = widget;
  scene(widget);
  const { candidates } = chosen(known, s);
  widget.picture.show(s.nbytes);
  parts.size.show(s.nbytes, `${nbytesText(s.nbytes)}, ${way(candidates[0])}`);
  parts.sentence.textContent = verdict(known, s);
  parts.compared.textContent = compared(known, published, s);
  parts.bars.replaceChildren(barsPicture(candidates, estimates(known, s), s.nbytes, parts.bars.clientWidth));
  parts.notice.replaceChildren();
  parts.proof.refresh();
}

function show(widget, spec) {
  widget.s = spec;
  draw(widget);
}

function take(widget, change) {
  const next = settled(widget.known, { ...widget.s, ...change });
  if (JSON.stringify(next) === JSON.stringify(widget.s)) return;
  show(widget, next);
  landed(widget, [widget.parts.sentence, widget.parts.compared]);
}

function render({ model, el }) {
  const widget = { model, index: placeOf(el), live: Boolean(model.get("live")), key: "" };
  Object.assign(widget, { known: model.get("nccl"), published: model.get("nccl_runs"), s: model.get("spec") });
  widget.does = { take: (change) => take(widget, change) };
  widget.parts = furniture(widget);
  el.append(widget.parts.root);
  draw(widget);
  return follow(
    widget,
    { decode, fits: (s) => fits(widget.known, s), show },
    onWidth(widget.parts.lines, () => draw(widget)),
  );
}

export default { render };
