// Several ranks on one clock: what each holds at this moment, and its peak.
import { h } from "../../shared/page/dom.mjs";
import { row } from "../../shared/page/tables.mjs";
import { alike } from "../draw/axis.mjs";
import { withUnit } from "../trace/amounts.mjs";

// traces: [[rank, trace]]; -> rows of rank, now, peak, where the peak is
export function rankRows(traces, axis, share, unit) {
  return traces.map(([rank, t]) => {
    const own = alike(t, axis);
    const i = t.n && own.place(0) <= share + 1e-9 ? own.indexAt(share) : -1;
    return [
      `rank ${rank}`,
      withUnit(i < 0 ? 0 : t.total[i], unit),
      t.n ? withUnit(t.total[t.peak], unit) : "–",
      t.n ? [t.phase[t.peak], t.module[t.peak]].filter(Boolean).join(", ") : "",
    ];
  });
}

export function rankTable(traces, axis, share, unit) {
  const rows = rankRows(traces, axis, share, unit).map(([name, ...rest], r) =>
    row("td", [
      h(
        "span",
        { class: "bim-class" },
        h("i", { class: "bim-swatch", style: `background: var(--bim-rank-${traces[r][0] % 8})` }),
        name,
      ),
      ...rest,
    ]),
  );
  return h(
    "table",
    {},
    h("caption", { class: "bim-sr" }, "Every rank at this moment"),
    h("thead", {}, row("th", ["Rank", "Here", "Peak", "Peak in"])),
    h("tbody", {}, rows),
  );
}
