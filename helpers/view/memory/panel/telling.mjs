// The chosen moment in words, the badge, and the tables under the picture.
import { alongside } from "../draw/axis.mjs";
import { thousands, timeText, withUnit } from "../trace/amounts.mjs";
import { placeOf } from "../trace/lines.mjs";
import { phasesOf } from "../trace/parts.mjs";
import { CLASSES, composition, marksOf } from "../trace/store.mjs";

export const NOUNS = [
  "parameter",
  "gradient",
  "optimizer state",
  "input",
  "cache",
  "activation",
  "communication",
  "temporary",
];
const AS = [
  "a parameter",
  "a gradient",
  "optimizer state",
  "input",
  "cache",
  "an activation",
  "a communication buffer",
  "temporary",
];

// A block of less than a hundredth of the unit is told in bytes.
const blockText = (nbytes, unit) =>
  nbytes < 0.005 * (unit === "GiB" ? 2 ** 30 : 2 ** 20) ? `${thousands(`${nbytes}`)} B` : withUnit(nbytes, unit);

function happening(t, i, unit, unclassed) {
  const [kind, op] = [t.kind[i], t.op[i]];
  const [, asked, free] = t.ooms?.find(([at]) => at === i) ?? [];
  if (asked !== undefined) return `out of memory, ${withUnit(asked, unit)} asked for, ${withUnit(free, unit)} free`;
  if (kind === 3) return `mark “${op}”`;
  const size = blockText(t.nbytes[t.slot[i]], unit);
  const as = unclassed ? "" : ` as ${AS[t.cls[i]]}`;
  const maker = (unclassed && op ? placeOf(op) : op) || "something";
  if (kind === 0) return `${maker} allocates ${size}${as}`;
  if (kind === 1)
    return `${size} ${unclassed ? "" : `(${NOUNS[t.cls[i]]}) `}${t.nbytes[t.slot[i]] === 1 ? "is" : "are"} freed`;
  return `${size}, made before, ${t.cls[i] === 5 ? "are kept for backward from here on" : `count${as} from here on`}`;
}

// What the trace that is compared with holds on the same clock.
function compared({ axis, rival, others, unit }, i) {
  if (!rival) return "";
  const [{ t, text }] = others;
  const at = alongside(t, axis, i);
  return ` ${text}: ${withUnit(t.total[at] ?? 0, unit)} here, ${withUnit(t.total[t.peak] ?? 0, unit)} at its peak.`;
}

export function sentence(t, i, ui) {
  const { unit, limit, unclassed } = ui;
  if (!t.n) return "No event yet.";
  const where = [t.phase[i], t.module[i]].filter(Boolean).join(", ");
  const when = t.timed ? ` at ${timeText(t.micros[i])}` : "";
  const all = t.total[i];
  const runsOut = i === ui.over ? "Here memory runs out:" : "That is";
  const over = limit && all > limit ? ` ${runsOut} ${withUnit(all - limit, unit)} more than the limit.` : "";
  return (
    `Event ${thousands(`${i + 1}`)} of ${thousands(`${t.n}`)}${when}${where ? `, ${where}` : ""}: ${happening(t, i, unit, unclassed)}. ` +
    `${withUnit(all, unit)} alive${i === t.peak ? ": the peak" : ""}.${over}${compared(ui, i)}`
  );
}

// What it is, on what, when: never a picture without.
function badgeText(t, { machine = "", date = "", fresh = false }) {
  const { torch, device, gpu } = t.about;
  const kind = t.source || (fresh ? "live in this kernel" : "");
  return [
    kind,
    machine || gpu || (kind.toLowerCase().includes(device) ? "" : device),
    torch && `torch ${torch}`,
    date || t.about.date,
  ]
    .filter(Boolean)
    .join(" · ");
}

// A prediction's badge is dashed, a recorded measurement's has a dot.
export function dress(badge, { t, set, opened }, fresh) {
  badge.textContent = badgeText(t, { machine: opened ? "" : set.machine, date: opened ? "" : set.date, fresh });
  badge.classList.toggle("bim-mt-predicted", t.source.startsWith("predicted"));
  badge.classList.toggle("bim-mt-recorded", Boolean(set.recorded && !opened));
}

// Rows for the table twin: marks, the last event of every phase, the peak: [event, what, bytes by class, all]
export function momentsOf(t, most = 40) {
  const found = new Map();
  for (const { name, to } of phasesOf(t)) found.set(to - 1, `end of ${name}`);
  for (const [i, name] of marksOf(t)) found.set(i, name);
  found.set(t.peak, [found.get(t.peak), "peak"].filter(Boolean).join(", "));
  const all = [...found].sort((a, b) => a[0] - b[0]);
  return all.length <= most ? all : all.filter(([i, name], m) => m < most - 1 || i === t.peak || name.includes("peak"));
}

export function momentRows(t, used) {
  return momentsOf(t).map(([i, name]) => [
    name,
    i + 1,
    ...(t.timed ? [t.micros[i] / 1e6] : []),
    ...used.map((cls) => composition(t, i)[cls]),
    t.total[i],
  ]);
}

// The classes that ever hold something.
export const usedClasses = (t) =>
  CLASSES.flatMap((_, cls) =>
    t.cls.some((one, i) => one === cls && t.kind[i] !== 3 && t.nbytes[t.slot[i]] > 0) ? [cls] : [],
  );
