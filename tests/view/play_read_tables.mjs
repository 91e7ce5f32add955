// Reads the texts of a JSON file with the page's own readers, bundled; prints what it found as JSON. Driven by test_read_tables_equal.py.
import { readFileSync } from "node:fs";

const { tables, topologies, rings, numbers, jsons, largest, few } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const { default: read } = await import(process.argv[3]);

// A value, or what a reader refused; anything else that is thrown ends the run.
function outcome(parse, text) {
  try {
    return { value: parse(text) };
  } catch (error) {
    if (!(error instanceof read.Refused)) throw error;
    return { refused: error.message, line: error.line };
  }
}

const tablesOf = (text) => read.ncclTestsTables(text).map((table) => ({ ...table, said: read.tableText(table) }));

function topology(text) {
  const told = read.parseTopo(text);
  const [gpus, ring] = [read.gpusOf(told), read.bestRingOf(told)];
  const edges = read.edgesOf(told).map((edge) => ({ ...edge, links: read.linksOf(edge.way) }));
  const nearest = gpus.map((gpu) => read.nearestOf(told, gpu));
  return { ...told, gpus, edges, nearest, ring, worst: read.worstHopOf(told, ring) };
}

const drawn = ({ devices, ranks }) => read.bestRing(devices, (one, other) => ranks[[one, other].sort().join(" ")]);

// Milliseconds, the best of five.
function fastest(text) {
  const times = Array.from({ length: 5 }, () => {
    const begin = performance.now();
    read.ncclTestsTables(text);
    return performance.now() - begin;
  });
  return Math.min(...times);
}

function json(text) {
  const { told, wrong, deep } = read.loads(text);
  return wrong === undefined && !deep ? { dumps: read.dumps(told), repr: read.repr(told) } : { wrong };
}

console.log(
  JSON.stringify({
    constants: read.constants,
    tables: tables.map((text) => outcome(tablesOf, text)),
    one: tables.slice(0, few).map((text) => outcome(read.parseNcclTests, text).refused ?? null),
    milliseconds: fastest(largest),
    topologies: topologies.map((text) => outcome(topology, text)),
    unknown: topologies
      .slice(0, few)
      .map((text) => outcome((t) => read.wayOf(read.parseTopo(t), "GPU0", "it's"), text)),
    rings: rings.map(drawn),
    numbers: numbers.map(([value, digits]) => read.general(value, digits)),
    jsons: jsons.map(json),
  }),
);
