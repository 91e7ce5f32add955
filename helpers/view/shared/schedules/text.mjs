// The text form of a schedule is the wire format: a header, then one line a step, "chunk:src⇒dst" adds, "chunk:src→dst" overwrites.
const HEADER = /^(\S+) (\S+) nranks=(\d+) nchunks=(\d+) root=(\d+|-)(?: nswitches=(\d+))?$/;
const TRANSFER = /^(\d+):(\d+)([→⇒])(\d+)$/;

function transfer(text) {
  const found = TRANSFER.exec(text);
  if (!found) throw new Error(`a transfer is written "chunk:src⇒dst" or "chunk:src→dst", got "${text}"`);
  return { chunk: +found[1], src: +found[2], dst: +found[4], adds: found[3] === "⇒" };
}

/** A name, as NAME of helpers.collectives.transfers has it: it stands in texts, links and copied cells. */
export const isName = (word) => /^[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}$/.test(word);
export const misnamed = (what, shown) =>
  `${what} must be one word of at most 64 letters, digits and "_.+-", like "two-rings", got ${shown}`;

function name(what, word) {
  if (word === "-") return null;
  if (!isName(word)) throw new Error(misnamed(what, JSON.stringify(word)));
  return word;
}

// -> { collective, algorithm, nranks, nchunks, root, nswitches, steps: [[{ chunk, src, dst, adds }]] }
export function parse(text) {
  const [header, ...lines] = text
    .trim()
    .split("\n")
    .map((line) => line.trim());
  const found = HEADER.exec(header);
  if (!found)
    throw new Error(`the first line reads "all_reduce ring nranks=3 nchunks=3 root=-" or the like, got "${header}"`);
  return {
    collective: name("collective", found[1]),
    algorithm: name("algorithm", found[2]),
    nranks: +found[3],
    nchunks: +found[4],
    root: found[5] === "-" ? null : +found[5],
    nswitches: +(found[6] ?? 0),
    steps: lines.filter(Boolean).map((line) => line.split(/\s+/).map(transfer)),
  };
}

// Beyond the ranks stand switches; where there is one such place for every rank, these are registers (one-shot, two-shot).
export const registers = (s) => s.nswitches === s.nranks && s.nranks > 1;

// A place's sign in a picture: a rank's number; S for a switch, numbered where there are several; R for a rank's registers.
export function sign(s, id) {
  if (id < s.nranks) return `${id}`;
  return registers(s) ? `R${id - s.nranks}` : s.nswitches === 1 ? "S" : `S${id - s.nranks}`;
}

export function place(s, id) {
  if (id < s.nranks) return `rank ${id}`;
  if (registers(s)) return `the registers of rank ${id - s.nranks}`;
  return s.nswitches === 1 ? "the switch" : `switch ${id - s.nranks}`;
}
