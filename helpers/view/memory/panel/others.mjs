// Several ranks on one clock: what each holds at this moment, and its peak.
import { h } from "../../shared/page/dom.mjs";
import { table } from "../../shared/page/tables.mjs";
import { alike } from "../draw/axis.mjs";
import { amount, sizeOf } from "../trace/amounts.mjs";

// traces: [[rank, trace]]; -> rows of rank, now, peak, where the peak is
function rankRows(traces, axis, share) {
  return traces.map(([rank, t]) => {
    const own = alike(t, axis);
    const i = t.n && own.place(0) <= share + 1e-9 ? own.indexAt(share) : -1;
    return [
      `rank ${rank}`,
      i < 0 ? 0 : t.total[i],
      t.n ? t.total[t.peak] : "–",
      t.n ? [t.phase[t.peak], t.module[t.peak]].filter(Boolean).join(", ") : "",
    ];
  });
}

export function rankTable(traces, axis, share, unit) {
  const rows = rankRows(traces, axis, share).map(([name, ...rest], r) => [
    h(
      "span",
      { class: "bim-class" },
      h("i", { class: "bim-swatch", style: `background: var(--bim-rank-${traces[r][0] % 8})` }),
      name,
    ),
    ...rest,
  ]);
  const held = (words) => [words, [[sizeOf(unit), unit]], (nbytes) => amount(nbytes, unit)];
  const made = table("Every rank at this moment", ["Rank", held("Here"), held("Peak"), "Peak in"], rows);
  made.caption.className = "bim-sr";
  return made;
}
