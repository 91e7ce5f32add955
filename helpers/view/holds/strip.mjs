// A rank's bytes over the moments of the step: a bar a moment, its top what it was on the way there; drag to go to a moment.
import { canvas, hold, label, line, rect, svg } from "../shared/page/dom.mjs";
import { nbytesText } from "../shared/page/numbers.mjs";
import { momentsOf, peak } from "./steps.mjs";

const [TOP, PLOT, BELOW] = [18, 56, 18];

// Where each phase begins, and how many moments it has.
function phases(moments) {
  const found = [];
  moments.forEach(({ phase }, i) => {
    if (found.at(-1)?.phase === phase) found.at(-1).many += 1;
    else found.push({ phase, from: i, many: 1 });
  });
  return found.filter(({ many }) => many > 1);
}

function summit(known, way, rank, x, y) {
  const all = momentsOf(known, way);
  const most = peak(known, way, rank);
  const at = all.findIndex(({ ranks }) => ranks[rank].most === most);
  const right = at > all.length / 2;
  return [
    svg("path", { class: "bim-h-summit", d: `M${x(at + 0.5)} ${y(most) - 1}l-5 -8h10z` }),
    label(
      `bim-label ${right ? "bim-end" : ""}`,
      x(at + 0.5) + (right ? -9 : 9),
      y(most) - 3,
      `at most ${nbytesText(most)}`,
    ),
  ];
}

// scale: bytes of the picture's height; onMoment(index) while a pointer is down.
export function stripPicture({ known, way, at, rank }, width, scale, onMoment) {
  const all = momentsOf(known, way);
  const x = (i) => 8 + (i / all.length) * (width - 16);
  const y = (nbytes) => TOP + PLOT * (1 - nbytes / scale);
  const wide = x(1) - x(0);
  const node = canvas(
    "bim-h-strip",
    width,
    TOP + PLOT + BELOW,
    `Bytes of rank ${rank} at every moment of the step; drag to choose a moment`,
    all.map(({ ranks }, i) => {
      const { total, most } = ranks[rank];
      return svg(
        "g",
        { class: i === at && "bim-h-now" },
        rect("bim-h-most", x(i) + 1, y(most), wide - 2, PLOT + TOP - y(most)),
        rect("bim-h-bytes", x(i) + 1, y(total), wide - 2, PLOT + TOP - y(total)),
      );
    }),
    line("bim-base", x(0), TOP + PLOT, x(all.length), TOP + PLOT),
    phases(all).map(({ phase, from, many }) => [
      line("bim-base", x(from), TOP + PLOT, x(from), TOP + PLOT + 5),
      label("bim-label", x(from) + 4, TOP + PLOT + 14, 7 * phase.length < many * wide ? phase : ""),
    ]),
    summit(known, way, rank, x, y),
  );
  hold(node, (px) => onMoment(Math.min(all.length - 1, Math.max(0, Math.floor((px - 8) / wide)))));
  return node;
}
