// A trace in few bytes, as helpers.memory.pack writes it.
import { CLASSES, KINDS } from "./store.mjs";

// Its number among the values that came before, a new one where it is new.
function numbering() {
  const known = new Map();
  return {
    of(value) {
      const key = typeof value === "object" ? JSON.stringify(value) : value;
      if (!known.has(key)) known.set(key, [known.size, value]);
      return known.get(key)[0];
    },
    values: () => [...known.values()].map(([, value]) => value),
  };
}

const steps = (values) => values.map((value, i) => value - (i ? values[i - 1] : 0));

function runsOf(numbers) {
  const runs = [];
  for (const number of numbers) {
    if (runs.at(-1)?.[0] === number) runs.at(-1)[1] += 1;
    else runs.push([number, 1]);
  }
  return runs;
}

export function pack(t) {
  const [what, sizes, modules] = [numbering(), numbering(), numbering()];
  const events = t.kind.map((kind, i) => what.of([KINDS[kind], CLASSES[t.cls[i]], t.phase[i], t.op[i]]));
  const blocks = [];
  let allocs = 0;
  t.kind.forEach((kind, i) => {
    if (kind !== 3) blocks.push(kind ? allocs - t.slot[i] : 0);
    allocs += kind === 0;
  });
  return {
    source: t.source,
    about: t.about,
    events,
    blocks,
    bytes: t.nbytes.map(sizes.of),
    module: runsOf(t.module.map(modules.of)),
    ids: t.ids.every((id, slot) => id === slot) ? [] : steps(t.ids),
    micros: t.micros.some(Boolean) ? steps(t.micros) : [],
    what: what.values(),
    sizes: sizes.values(),
    modules: modules.values(),
    samples: t.samples,
    ...(t.ooms?.length ? { ooms: t.ooms } : {}),
  };
}
