// What can be asked for: a catalogue's entry and its options, the network's nodes, and another algorithm to compare with.
// A spec from choose() is always one that can be answered; what does not fit falls away, what is lacking gets its usual value.
export const find = (catalogue, { collective, algorithm }) =>
  catalogue.find((entry) => entry.collective === collective && entry.algorithm === algorithm);

// The option by which an entry's schedules differ on equally many ranks, and its values: ["slices", [1, 2, 4]], or ["", []].
export function offered(entry, nranks) {
  for (const name of ["slices", "gpus"]) if (entry[name]) return [name, entry[name][nranks] ?? []];
  return entry.nchunks ? ["nchunks", entry.nchunks] : ["", []];
}

const SLOTS = 8; // the most slices that are taken unasked: as many as NCCL's buffers have slots

// The slices with which a switch is cheapest, at this size and on this network; the most where they all cost the same.
export function cheapest(entry, { nranks, nbytes, link }, links) {
  const on = links.find(({ slug }) => slug === link) ?? links.find(({ slug }) => slug === "nvlink-4");
  const few = entry.slices[nranks].filter((n) => n <= SLOTS);
  if (on.switch) return Math.max(...few);
  const paid = ([latencies, buffers], { call = 0, alpha, bandwidth }) =>
    call + latencies * alpha + buffers * nbytes * (1 / bandwidth);
  const prices = entry.pays[nranks].map((pays) => Math.min(...(on.protocols ?? [on]).map((line) => paid(pays, line))));
  return few[prices.indexOf(Math.min(...prices.slice(0, few.length)))];
}

function usual(name, values, entry, asked, links) {
  if (name === "slices") return cheapest(entry, asked, links);
  return Math.max(...values.filter((n) => (name === "gpus" ? n < Math.max(asked.nranks, 2) && n <= 8 : n <= 4)));
}

// Which schedule of an entry: what the page and the kernel look up.
export function identity(entry, asked, links) {
  const { collective, algorithm } = entry;
  const nranks = entry.nranks.includes(asked.nranks) ? asked.nranks : 4;
  const [name, values] = offered(entry, nranks);
  const root = entry.rooted ? Math.min(asked.root ?? 0, nranks - 1) : null;
  const cut = name && {
    [name]: values.includes(asked[name]) ? asked[name] : usual(name, values, entry, { ...asked, nranks }, links),
  };
  return { collective, algorithm, nranks, root, nchunks: null, ...cut };
}

// Ranks per node that make at least two nodes of at least two.
export const nodeSizes = (nranks) =>
  Array.from({ length: nranks }, (_, g) => g).filter((g) => g > 1 && nranks % g === 0);

// Two links instead of one; without `across`, and through a switch, there is one.
function nodes(own, { nranks, gpus, across, nics }, switched) {
  const size =
    own.gpus ??
    (nranks % gpus
      ? nodeSizes(nranks)
          .filter((g) => g <= gpus)
          .pop()
      : gpus);
  if (!across || switched || !size) return null;
  return { gpus: size, across, ...(nics <= size && { nics }) };
}

// Slices that were the cheapest are nobody's choice: where something else changes, they are found anew.
function uncut(catalogue, spec, change, links) {
  const entry = find(catalogue, spec);
  const mine = entry?.pays?.[spec.nranks] && !spec.schedule && spec.slices === cheapest(entry, spec, links);
  return { ...spec, ...(mine && { slices: undefined }), ...change };
}

// spec: what is on show; for a schedule that is given in full, with its collective, nranks, root and nswitches.
export function choose(catalogue, spec, change, links) {
  const asked = uncut(catalogue, spec, change, links);
  const same = catalogue.filter((entry) => entry.collective === asked.collective);
  const { schedule, before, after, factor, promise } = asked;
  const entry = schedule ? null : (find(same, asked) ?? same[0]);
  const own = entry ? identity(entry, asked, links) : { schedule, before, after, factor, promise };
  const nranks = own.nranks ?? asked.nranks;
  const link = asked.link === "recorded" ? "nvlink-4" : asked.link;
  const network = nodes(own, { ...asked, nranks }, entry ? entry.switched : asked.nswitches > 0);
  const next = { ...own, nbytes: asked.nbytes, link, ...network };
  const other = asked.rival && find(same, { collective: asked.collective, algorithm: asked.rival.algorithm });
  const fits = other && other !== entry && !asked.root && !(other.switched && network);
  return fits ? { ...next, rival: identity(other, { ...asked, ...next, nranks }, links) } : next;
}
