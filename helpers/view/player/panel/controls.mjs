// The controls as one sentence of native selects: "all_reduce by ring on 4 ranks, 64 MiB, over NVLink 4, compared with nothing".
import { h } from "../../shared/page/dom.mjs";
import { times, nbytesText } from "../../shared/page/numbers.mjs";
import { choose, find, nodeSizes, offered } from "../../shared/schedules/choices.mjs";

const OFFERED = [1, ...times(13, (i) => 1024 * 4 ** i)];

function select(label, options, chosen, onChange) {
  const values = options.map((option) => (Array.isArray(option) ? option : [option, `${option}`]));
  if (!values.some(([v]) => v === chosen)) values.push([chosen, `${chosen}`]);
  const change = (event) => onChange(values[event.target.selectedIndex][0]);
  return h(
    "select",
    { "aria-label": label, change },
    values.map(([v, text]) => h("option", { value: `${v}`, selected: v === chosen }, text)),
  );
}

const unique = (items) => [...new Set(items)];
const sizes = (nbytes) =>
  unique([...OFFERED, nbytes])
    .sort((a, b) => a - b)
    .map((n) => [n, nbytesText(n)]);
const CUTS = { nchunks: ["Number of chunks", " chunks"], slices: ["Number of slices", " slices"] };

// "in one node", or "in nodes of 4"; an algorithm of nodes has them also where one link runs everywhere.
function nodesPart({ spec, schedule, entry }, pick) {
  const always = entry?.gpus?.[schedule.nranks];
  const counts = always ?? nodeSizes(schedule.nranks);
  if (entry?.switched || schedule.nswitches || !counts.length) return null;
  const options = [...(always ? [] : [[null, "one node"]]), ...counts.map((g) => [g, `nodes of ${g}`])];
  return [
    " in ",
    select("Nodes", options, spec.gpus ?? null, (gpus) =>
      pick({ gpus, across: gpus && !always ? (spec.across ?? "infiniband-ndr") : gpus && spec.across }),
    ),
  ];
}

// "over NVLink 4 inside, InfiniBand NDR between nodes, with 4 NICs in each"
function networkPart({ spec, links, entry }, pick) {
  const names = links.map(({ slug, name }) => [slug, name]);
  const inside = [
    ", over ",
    select("Network", spec.recorded ? [["recorded", "the run's own link"], ...names] : names, spec.link, (link) =>
      pick({ link }),
    ),
  ];
  if (!spec.gpus) return inside;
  const between = select(
    "Network between nodes",
    entry?.gpus ? [[null, "the same"], ...names] : names,
    spec.across ?? null,
    (across) => pick({ across }),
  );
  const nics = unique([...times(4, (i) => 2 ** i).filter((n) => n < spec.gpus), spec.nics ?? spec.gpus, spec.gpus]).map(
    (n) => [n, n > 1 ? `${n} NICs` : "1 NIC"],
  );
  return [
    inside,
    " inside, ",
    between,
    " between nodes",
    spec.across && [" with ", select("NICs per node", nics, spec.nics ?? spec.gpus, (n) => pick({ nics: n })), " each"],
  ];
}

// spec: what is on show, asked(): what was chosen last, which may still be under way; own: what to call a schedule or run that the
// author gave; live: a kernel answers, so any root can be had.
export function controls(all, { onSchedule, onPrice, onOwn }) {
  const { spec, asked, catalogue, links, schedule, own, live } = all;
  const { collective, algorithm, nranks, root, nswitches } = schedule;
  const given = !spec.collective || spec.recorded;
  const from = () => (asked() === spec ? { ...spec, collective, algorithm, nranks, root, nswitches } : asked());
  const keep = (change) => onSchedule(choose(catalogue, from(), change, links));
  const pick = (name) => (value) => keep({ schedule: undefined, [name]: value });
  const reprice = (change) => {
    const next = choose(catalogue, from(), change, links);
    const cuts = [next.slices !== asked().slices, next.rival?.slices !== asked().rival?.slices];
    return asked().recorded || cuts.some(Boolean) ? onSchedule(next) : onPrice(change);
  };
  const entries = catalogue.filter((entry) => entry.collective === collective);
  const algorithms = unique([...(own ? [own] : []), ...entries.map((entry) => entry.algorithm)]);
  const entry = spec.collective ? find(catalogue, spec) : null;
  const byAlgorithm = (value) => (value === own ? onOwn() : pick("algorithm")(value));
  const towards = ["reduce", "gather"].includes(collective) ? "to" : "from";
  const counts = entry?.nranks ?? unique([nranks, ...(entries[0]?.nranks ?? [])]).sort((a, b) => a - b);
  const [cut, values] = entry ? offered(entry, nranks) : ["", []];
  const part = { ...all, entry };
  const others = entries
    .filter((other) => other !== entry && !root && !(other.switched && spec.across))
    .map((other) => other.algorithm);
  return h(
    "p",
    { class: "bim-controls" },
    select("Collective", unique(catalogue.map((e) => e.collective)), collective, pick("collective")),
    " by ",
    select("Algorithm", algorithms, given ? own : spec.algorithm, byAlgorithm),
    " on ",
    select("Number of ranks", counts, nranks, pick("nranks")),
    " ranks",
    nodesPart(part, keep),
    entry?.rooted &&
      live && [
        ` ${towards} rank `,
        select(
          "Root",
          times(nranks, (r) => r),
          root,
          pick("root"),
        ),
      ],
    CUTS[cut] && [" in ", select(CUTS[cut][0], values, spec[cut], pick(cut)), CUTS[cut][1]],
    ", ",
    select("Size", sizes(spec.nbytes), spec.nbytes, (nbytes) => reprice({ nbytes })),
    networkPart(part, (change) => ("link" in change ? reprice(change) : keep(change))),
    ", compared with ",
    select("Compared with", [[null, "nothing"], ...others], spec.rival?.algorithm ?? null, (value) =>
      keep({ rival: value && { algorithm: value } }),
    ),
  );
}
