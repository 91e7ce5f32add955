// What the widget says, as words.py says it. Tested equal.
import { count, nbytesText, secondsText } from "../shared/page/numbers.mjs";
import { communication, exposed, hidden, secondsIn } from "./lanes.mjs";

const DDP = 25 * 2 ** 20;
const NOTHING = 1e-12;

export const bucketText = (nbytes) => (nbytes ? nbytesText(nbytes) : "everything");
const some = (seconds) => (seconds < NOTHING ? "nothing" : secondsText(seconds));
export const exposedText = (o) => some(figuresOf(o).exposed);
const listed = (words) => words.join(", ").replace(/, (?=[^,]*$)/, " and ");

function who({ mode }, { calls }) {
  if (mode === "buckets") return count(calls.length, "all_reduce");
  const gathers = calls.filter(({ collective }) => collective === "all_gather").length;
  return `${count(gathers, "all_gather")} and ${count(calls.length - gathers, "reduce_scatter")}`;
}

const capital = (words) => words[0].toUpperCase() + words.slice(1);

const recordedVerdict = ({ name, measured: seen, predicted: told }) =>
  `${capital(name)}: a rank keeps the link for ${secondsText(seen.communication)}, and ${secondsText(seen.exposed)} are ` +
  `exposed. The model says ${secondsText(told.communication)} and ${secondsText(told.exposed)}. The step took ` +
  `${secondsText(seen.seconds)}.`;

export function verdict(s, o) {
  if (s.mode === "recorded") return recordedVerdict(o);
  const keeps = o.calls.length === 1 ? "keeps" : "keep";
  return (
    `${who(s, o)} ${keeps} the link for ${secondsText(communication(o))}. Of that ${some(hidden(o))} is hidden and ` +
    `${exposedText(o)} exposed. The step takes ${secondsText(secondsIn(o))}, of which ${secondsText(o.computed)} is computation.`
  );
}

// What a step takes, whether it was computed or recorded: { computed, communication, hidden, exposed, seconds }
export function figuresOf(o) {
  const seen = o.measured;
  if (seen) return { ...seen, hidden: Math.max(0, seen.communication - seen.exposed) };
  return {
    computed: o.computed,
    communication: communication(o),
    hidden: hidden(o),
    exposed: exposed(o),
    seconds: secondsIn(o),
  };
}

// Of all that is offered, what exposes least; of equals the largest buckets, or the fewest units ahead.
export function best(others) {
  const time = ({ o }) => Math.round(figuresOf(o).seconds * 1e12);
  const inTurn = others[0].s.mode === "units" ? others : others.toReversed();
  return inTurn.reduce((least, one) => (time(one) < time(least) ? one : least));
}

export function compared(s, others) {
  if (s.mode === "recorded") return others[0].o.label;
  if (s.mode === "units") {
    const ahead = listed(others.map((one) => `${one.s.prefetch}`));
    const [each, held] = [others.map(({ o }) => exposedText(o)), others.map(({ o }) => nbytesText(o.gathered))];
    return `Prefetch ${ahead}: exposed ${listed(each)}, gathered at most ${listed(held)}.`;
  }
  const least = best(others).s.bucket;
  const of = (size) => exposedText(others.find((one) => one.s.bucket === size).o);
  const name = `${capital(bucketText(least))}${least === DDP ? ", as in DDP," : ""}`;
  const beside = [
    [DDP, "25 MiB, as in DDP,"],
    [0, "one bucket of everything"],
  ];
  const rest = beside.filter(([size]) => size !== least).map(([size, words]) => `${words} ${of(size)}`);
  return `${name} exposes least of what is offered: ${of(least)}. Beside it: ${rest.join(" and ")}.`;
}
