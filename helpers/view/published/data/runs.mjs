// The published runs, unpacked: as helpers.nccl.published has them, with NCCL's model beside them. See known.py.
const SHORT = {
  "nccl-tests-six-gpus-timings": "six",
  "nccl-tests-h200-b200-nvls": "nvls",
  "nccl-tests-8xh200-collectives": "each",
  "nccl-tests-8xa100-latency": "latency",
};

// "8980 100 -20,30" -> [[8980], [9080], [9060, 9090]]
function cells(steps) {
  let before = 0;
  return steps.split(" ").map((cell) => {
    const [first, ...more] = cell.split(",").map(Number);
    before += first;
    let last = before;
    return [before, ...more.map((apart) => (last += apart))];
  });
}

const ways = (runs) => runs.flatMap(([way, n]) => Array.from({ length: n }, () => way));

function modelOf([steps, told]) {
  const all = ways(told);
  return cells(steps).map(([nanoseconds], i) => ({ seconds: nanoseconds / 1e9, way: all[i] }));
}

export function median(sorted) {
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

// nccl-tests' factor from algbw to busbw.
export function factorOf(collective, nranks) {
  if (["broadcast", "reduce"].includes(collective)) return 1;
  return ((collective === "all_reduce" ? 2 : 1) * (nranks - 1)) / nranks;
}

function keyOf({ gpu, collective, nranks, dtype, version, folder, setting, table }) {
  const where = folder ? `in-${folder}` : (SHORT[table.name] ?? table.name.split("-")[0]);
  const parts = [gpu, collective, nranks, dtype ?? "any", version ?? "none", where];
  return [...parts, ...(setting ? [setting.replaceAll(" ", "-")] : [])].join(".");
}

function runOf(row, tables, models) {
  const [gpu, collective, nranks, dtype, version, folder, setting, table, grain, steps, model, worked] = row;
  const times = cells(steps);
  const sizes = times.map((_, i) => 2 ** (grain + i));
  const seconds = times.map((cell) => median(cell) / 1e9);
  const factor = factorOf(collective, nranks);
  const run = { gpu, collective, nranks, dtype, version, folder, setting, table: tables[table], sizes, seconds };
  return {
    ...run,
    key: keyOf(run),
    busbw: seconds.map((second, i) => (sizes[i] / second) * factor),
    least: times.map((cell) => cell[0] / 1e9),
    most: times.map((cell) => cell.at(-1) / 1e9),
    repeats: times.map((cell) => cell.length),
    model: models[model] ?? null,
    loaded: version ?? folder,
    isNamedOtherwise: version !== null && folder !== null && version !== folder,
    isWorkedOut: Boolean(worked),
  };
}

export function unpacked({ tables, runs, models }) {
  const told = models.map(modelOf);
  return runs.map((row) => runOf(row, tables, told));
}
