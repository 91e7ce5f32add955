// One clock for several schedules: it stops at the end of every step of any of them. With one schedule, its steps are the stops.
import { eased, uneased } from "../../shared/page/motion.mjs";
import { positionAt, timeAt } from "../../shared/schedules/model.mjs";

const SAME = 1e-12; // two ends closer than this share of the whole are one stop

function stopsOf(lines) {
  const ends = lines
    .flatMap(({ steps }) => [0, ...steps.map(({ start, seconds }) => start + seconds)])
    .sort((a, b) => a - b);
  const close = SAME * ends[ends.length - 1];
  return ends.filter((end, i) => !i || end - ends[i - 1] > close);
}

// Whole positions stay whole, whatever rounding did to the seconds.
const snapped = (position) => (Math.abs(position - Math.round(position)) < 1e-6 ? Math.round(position) : position);

// lines: [{ seconds, steps: [{ start, seconds }] }]
// -> { last: number of stops, seconds(position), at(position): each schedule's own, from(i, own): the clock's }
export function together(lines) {
  if (lines.length === 1) {
    const [line] = lines;
    return { last: line.steps.length, seconds: (p) => timeAt(line, eased(p)), at: (p) => [p], from: (_, own) => own };
  }
  const ends = stopsOf(lines);
  const steps = ends.slice(1).map((end, i) => ({ start: ends[i], seconds: end - ends[i] }));
  const seconds = (position) => timeAt({ steps }, eased(position));
  return {
    last: steps.length,
    seconds,
    at: (p) => lines.map((line) => uneased(snapped(positionAt(line, seconds(p))))),
    from: (i, own) => uneased(snapped(positionAt({ steps }, timeAt(lines[i], eased(own))))),
  };
}
