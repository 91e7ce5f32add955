// Several ranks on one clock: what each holds at this moment, and its peak.
import { h } from "../../shared/page/dom.mjs";
import { table } from "../../shared/page/tools.mjs";
import { alike } from "../draw/axis.mjs";
import { amount, sizeOf } from "../trace/amounts.mjs";
import { saidAt } from "../trace/store.mjs";

// rows: [{ t, name, colour }]; -> name, now, peak, where the peak is, and what its allocator had reserved
function rankRows(rows, axis, share, isSaid) {
  return rows.map(({ t, name }) => {
    const own = alike(t, axis);
    const i = t.n && own.place(0) <= share + 1e-9 ? own.indexAt(share) : -1;
    return [
      name,
      i < 0 ? 0 : t.total[i],
      t.n ? t.total[t.peak] : "–",
      t.n ? [t.phase[t.peak], t.module[t.peak]].filter(Boolean).join(", ") : "",
      ...(isSaid ? [saidAt(t, i)?.[2] ?? "–"] : []),
    ];
  });
}

// What stands beside each other: the trace on show and the one it is compared with, or every rank.
export function besides({ t, traces, others, rival, title }) {
  if (!rival) return traces.map(([rank, one]) => ({ t: one, name: `rank ${rank}`, colour: `--bim-rank-${rank % 8}` }));
  const shown = { t, name: title, colour: "--bim-ink" };
  return [shown, ...others.map((other) => ({ t: other.t, name: other.text, colour: "--bim-accent" }))];
}

export function rankTable(all, axis, share, unit, isRanks) {
  const isSaid = all.some(({ t }) => t.samples.length);
  const rows = rankRows(all, axis, share, isSaid).map(([name, ...rest], r) => [
    h(
      "span",
      { class: "bim-class" },
      h("i", { class: "bim-swatch", style: `background: var(${all[r].colour})` }),
      name,
    ),
    ...rest,
  ]);
  const held = (head) => [head, [[sizeOf(unit), unit]], (nbytes) => amount(nbytes, unit)];
  const [caption, first] = isRanks ? ["Every rank at this moment", "Rank"] : ["Both traces at this moment", "Trace"];
  const head = [first, held("Here"), held("Peak"), "Peak in", ...(isSaid ? [held("Reserved")] : [])];
  const made = table(caption, head, rows);
  made.caption.className = "bim-sr";
  return made;
}
