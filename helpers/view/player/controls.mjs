// The controls as one sentence of native selects: "all_reduce by ring on 4 ranks, 64 MiB, over NVLink 4".
import { h } from "./dom.mjs";
import { find } from "./permalink.mjs";
import { times } from "./text.mjs";
import { nbytesText } from "./units.mjs";

const OFFERED = [1, ...times(13, (i) => 1024 * 4 ** i)];
const OWN = "as given";

function select(label, options, chosen, onChange) {
  const values = options.map((option) => (Array.isArray(option) ? option : [option, `${option}`]));
  if (!values.some(([v]) => v === chosen)) values.push([chosen, `${chosen}`]);
  const change = (event) => onChange(values[event.target.selectedIndex][0]);
  return h("select", { "aria-label": label, change },
    values.map(([v, text]) => h("option", { value: `${v}`, selected: v === chosen }, text)));
}

const unique = (items) => [...new Set(items)];
const sizes = (nbytes) => unique([...OFFERED, nbytes]).sort((a, b) => a - b).map((n) => [n, nbytesText(n)]);

// A spec for another schedule: what the entry cannot take falls away, what it needs and lacks gets its usual value.
export function choose(catalogue, spec, change) {
  const { collective, algorithm, nranks, nbytes, link, root, nchunks } = { ...spec, ...change };
  const same = catalogue.filter((entry) => entry.collective === collective);
  const entry = find(same, { collective, algorithm }) ?? same[0];
  const fitting = entry.nchunks?.includes(nchunks) ? nchunks : entry.nchunks?.find((n) => n >= 4) ?? entry.nchunks?.[0];
  return {
    collective,
    algorithm: entry.algorithm,
    nranks: entry.nranks.includes(nranks) ? nranks : 4,
    root: entry.rooted ? Math.min(root ?? 0, nranks - 1) : null,
    nchunks: fitting ?? null,
    nbytes,
    link,
  };
}

// spec: what is on show, own: the schedule that was given in full, if any; live: a kernel answers, so any root can be had.
export function controls({ spec, catalogue, links, schedule, own, live }, { onSchedule, onPrice, onOwn }) {
  const given = !spec.collective;
  const from = { ...spec, collective: schedule.collective, algorithm: schedule.algorithm, nranks: schedule.nranks, root: schedule.root };
  const pick = (name) => (value) => onSchedule(choose(catalogue, from, { [name]: value }));
  const entries = catalogue.filter((entry) => entry.collective === schedule.collective);
  const algorithms = unique([...(own ? [OWN] : []), ...entries.map((entry) => entry.algorithm)]);
  const entry = given ? null : find(catalogue, spec);
  const byAlgorithm = (value) => (value === OWN ? onOwn() : pick("algorithm")(value));
  const towards = ["reduce", "gather"].includes(schedule.collective) ? "to" : "from";
  const roots = times(schedule.nranks, (r) => r);
  return h("p", { class: "bim-controls" },
    select("Collective", unique(catalogue.map((e) => e.collective)), schedule.collective, pick("collective")),
    " by ", select("Algorithm", algorithms, given ? OWN : spec.algorithm, byAlgorithm),
    " on ", select("Number of ranks", entry?.nranks ?? unique([schedule.nranks, ...(entries[0]?.nranks ?? [])]).sort((a, b) => a - b), schedule.nranks, pick("nranks")), " ranks",
    entry?.rooted && live && [` ${towards} rank `, select("Root", roots, schedule.root, pick("root"))],
    entry?.nchunks && [" in ", select("Number of chunks", entry.nchunks, schedule.nchunks, pick("nchunks")), " chunks"],
    ", ", select("Size", sizes(spec.nbytes), spec.nbytes, (nbytes) => onPrice({ nbytes })),
    ", over ", select("Network", links.map(({ slug, name }) => [slug, name]), spec.link, (link) => onPrice({ link })));
}
