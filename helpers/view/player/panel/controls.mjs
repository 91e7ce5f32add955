// The controls as one sentence: "all_reduce by ring on 4 ranks, 64 MiB, over NVLink 4". What the page talks about is a native select
// in it; all else is said in words until a reader asks for more choices.
import { h } from "../../shared/page/dom.mjs";
import { nbytesText, times } from "../../shared/page/numbers.mjs";
import { tool } from "../../shared/page/tools.mjs";
import { choose, find, nodeSizes, offered } from "../../shared/schedules/choices.mjs";

const OFFERED = [1, ...times(13, (i) => 1024 * 4 ** i)];

// A part of the sentence: a select where it is offered, else the word that is chosen.
const part = (isOffered) => (label, options, chosen, onChange) => {
  const values = options.map((option) => (Array.isArray(option) ? option : [option, `${option}`]));
  if (!values.some(([v]) => v === chosen)) values.push([chosen, `${chosen}`]);
  if (!isOffered(label)) return h("strong", {}, values.find(([v]) => v === chosen)[1]);
  const change = (event) => onChange(values[event.target.selectedIndex][0]);
  return h(
    "select",
    { "aria-label": label, change },
    values.map(([v, text]) => h("option", { value: `${v}`, selected: v === chosen }, text)),
  );
};

const unique = (items) => [...new Set(items)];
const sizes = (nbytes) =>
  unique([...OFFERED, nbytes])
    .sort((a, b) => a - b)
    .map((n) => [n, nbytesText(n)]);
const CUTS = { nchunks: ["Number of chunks", " chunks"], slices: ["Number of slices", " slices"] };

// "in one node", or "in nodes of 4"; an algorithm of nodes has them also where one link runs everywhere.
function nodesPart({ spec, schedule, entry, word, isOffered }, pick) {
  const always = entry?.gpus?.[schedule.nranks];
  const counts = always ?? nodeSizes(schedule.nranks);
  if (entry?.switched || schedule.nswitches || !counts.length || !(spec.gpus || isOffered("Nodes"))) return null;
  const options = [...(always ? [] : [[null, "one node"]]), ...counts.map((g) => [g, `nodes of ${g}`])];
  return [
    " in ",
    word("Nodes", options, spec.gpus ?? null, (gpus) =>
      pick({ gpus, across: gpus && !always ? (spec.across ?? "infiniband-ndr") : gpus && spec.across }),
    ),
  ];
}

// "over NVLink 4 inside, InfiniBand NDR between nodes, with 4 NICs in each"
function networkPart({ spec, links, entry, word }, pick) {
  const names = links.map(({ slug, name }) => [slug, name]);
  const inside = [
    ", over ",
    word("Network", spec.recorded ? [["recorded", "the run's own link"], ...names] : names, spec.link, (link) =>
      pick({ link }),
    ),
  ];
  if (!spec.gpus) return inside;
  const between = word(
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
    spec.across && [" with ", word("NICs per node", nics, spec.nics ?? spec.gpus, (n) => pick({ nics: n })), " each"],
  ];
}

// "by ring"; a schedule or a run that the author gave goes by its own name: "by ring, as recorded,"
function algorithmPart({ spec, schedule, entries, own, word, isOffered }, onChange) {
  const given = !spec.collective || spec.recorded;
  if (given && !isOffered("Algorithm")) return [h("strong", {}, schedule.algorithm), `, ${own},`];
  const algorithms = unique([...(own ? [own] : []), ...entries.map((entry) => entry.algorithm)]);
  return word("Algorithm", algorithms, given ? own : spec.algorithm, onChange);
}

// ", compared with binomial"
function rivalPart({ spec, schedule, entries, entry, word, isOffered }, onChange) {
  if (!spec.rival && !isOffered("Compared with")) return null;
  const others = entries
    .filter((other) => other !== entry && !schedule.root && !(other.switched && spec.across))
    .map((other) => other.algorithm);
  return [
    ", compared with ",
    word("Compared with", [[null, "nothing"], ...others], spec.rival?.algorithm ?? null, onChange),
  ];
}

// spec: what is on show, asked(): what was chosen last, which may still be under way; own: what to call a schedule or run that the
// author gave; live: a kernel answers, so any root can be had; more: is everything offered, or only the choices in first?
export function controls(given, { onSchedule, onPrice, onOwn, onMore }) {
  const { spec, asked, catalogue, links, schedule, own, live, more, first } = given;
  const { collective, algorithm, nranks, root, nswitches } = schedule;
  const from = () => (asked() === spec ? { ...spec, collective, algorithm, nranks, root, nswitches } : asked());
  const keep = (change) => onSchedule(choose(catalogue, from(), change, links));
  const pick = (name) => (value) => keep({ schedule: undefined, [name]: value });
  const reprice = (change) => {
    const next = choose(catalogue, from(), change, links);
    const cuts = [next.slices !== asked().slices, next.rival?.slices !== asked().rival?.slices];
    return asked().recorded || cuts.some(Boolean) ? onSchedule(next) : onPrice(change);
  };
  const entries = catalogue.filter((one) => one.collective === collective);
  const entry = spec.collective ? find(catalogue, spec) : null;
  const isOffered = (label) => more || first.includes(label);
  const word = part(isOffered);
  const all = { ...given, entries, entry, word, isOffered };
  const towards = ["reduce", "gather"].includes(collective) ? "to" : "from";
  const counts = entry?.nranks ?? unique([nranks, ...(entries[0]?.nranks ?? [])]).sort((a, b) => a - b);
  const [cut, values] = entry ? offered(entry, nranks) : ["", []];
  return h(
    "p",
    { class: "bim-controls" },
    word("Collective", unique(catalogue.map((e) => e.collective)), collective, pick("collective")),
    " by ",
    algorithmPart(all, (value) => (value === own ? onOwn() : pick("algorithm")(value))),
    " on ",
    word("Number of ranks", counts, nranks, pick("nranks")),
    " ranks",
    nodesPart(all, keep),
    entry?.rooted && live && [` ${towards} rank `, word("Root", [...Array(nranks).keys()], root, pick("root"))],
    CUTS[cut] && [" in ", word(CUTS[cut][0], values, spec[cut], pick(cut)), CUTS[cut][1]],
    ", ",
    word("Size", sizes(spec.nbytes), spec.nbytes, (nbytes) => reprice({ nbytes })),
    networkPart(all, (change) => ("link" in change ? reprice(change) : keep(change))),
    rivalPart(all, (value) => keep({ rival: value && { algorithm: value } })),
    " ",
    tool(`${more ? "Fewer" : "More"} choices`, onMore, { class: "bim-tool bim-more", "aria-expanded": `${more}` }),
  );
}
