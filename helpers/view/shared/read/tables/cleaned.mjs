// The lines of a pasted log, without what launchers, collectors and terminals put around them: helpers/nccl/output/tables/cleaned.py.

/* oxlint-disable no-control-regex -- they are what is looked for */
const SPACE = /[^\S\n ]|[\x1c-\x1f\x85]/g; // \s has the mark that Windows begins a text with, and lacks five that Python has
const COLOURS = /\x1b\[[0-9;]*[A-Za-z]/g;
const BEFORE = [
  /^\((?:[\w.-]+, )?\w+=[^,()]*(?:, \w+=[^,()]*)*\)\s/, // Ray, SkyPilot: (head, rank=0, pid=3808)
  /^\[[\w.@-]+,\d+\]<std(?:out|err)>:/, // mpirun --tag-output: [1,0]<stdout>:
  /^\[[\w.:/-]+\]:?\s/, // [node-1], [default0]:, kubectl logs --prefix: [pod/worker-0/nccl]
  /^\d+:\s/, // srun --label
  /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?:?\s/,
  /^\d\d:\d\d:\d\d(?:[.,]\d+)?:?\s/,
  /^[A-Za-z][\w./-]*\s*\|\s/, // docker compose
  /^(?!NIC\d+:)[A-Za-z][\w.-]*:\s/, // a host, as pdsh and clush write it; not a legend of nvidia-smi
  /^>\s/, // a quotation
];
const MOST = 6; // of them one after the other

// One line: its number, from 1 on, what is left of it, how it was written, and what it is called in an error.
export const lineOf = (number, text, written, name = "line") => ({ number, text, written, name });

// The text with \n at the end of its lines, and no other white space than plain ones between its words.
export const spaced = (text) => text.replace(/\r\n?/g, "\n").replace(SPACE, " ");

// Every line, without prefixes of MPI, Slurm, containers, hosts and clocks. The spaces behind them stay.
export function cleaned(text) {
  const lines = spaced(text).split("\n");
  return lines.map((written, at) => lineOf(at + 1, without(written.replace(COLOURS, "")), written));
}

function without(text) {
  for (let i = 0; i < MOST; i++) {
    const bare = text.trimStart();
    const found = BEFORE.find((pattern) => pattern.test(bare));
    if (!found) break;
    text = bare.replace(found, "");
  }
  return text;
}
