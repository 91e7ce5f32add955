// The whole state as a link, and as Python. A link holds letters, digits and what a name may hold only; a transfer is three letters of it.
import { cell, py } from "../shared/page/copied.mjs";
import { nbytesText } from "../shared/page/numbers.mjs";
import { isName } from "../shared/schedules/schedule.mjs";
import { chunkCounts, COLLECTIVES, unfit } from "./proof/pledge.mjs";
import { unsound } from "./proof/proof.mjs";
import { scheduleText } from "./writing.mjs";

const MOST_STEPS = 64;
const pack = ({ chunk, src, dst, adds }) => (((chunk * 8 + src) * 8 + dst) * 2 + adds).toString(32).padStart(3, "0");

function unpack(letters) {
  const n = parseInt(letters, 32);
  return { chunk: n >> 7, src: (n >> 4) & 7, dst: (n >> 1) & 7, adds: n % 2 === 1 };
}

// state: { s, nbytes, link, step, task } -> "#playground-0--all_reduce-mine-4-4-x--67108864-nvlink-4--2--own--3kg3l1-..."
export function encode({ s, nbytes, link, step, task }, index) {
  const head = [s.collective, s.nranks, s.nchunks, s.root ?? "x", s.algorithm].join("-");
  const steps = s.steps.map((moves) => moves.map(pack).join("")).join("-") || "0";
  return `#playground-${index}--${head}--${nbytes}-${link}--${step}--${task ?? "own"}--${steps}`;
}

const LINK =
  /^#playground-(\d+)--(\w+)-(\d)-(\d+)-(\d|x)-([\w.+-]+?)--(\d+)-([\w-]+?)--(\d+)--([\w-]+?)--([0-9a-v-]+)$/;

// The state in a link made for this playground, or null when it is about something else or broken; { bad } when it cannot be drawn.
export function decode(hash, index, { links, tasks }) {
  const [found, place] = [LINK.exec(hash), `#playground-${index}--`]; // the place alone asks for nothing
  if (!found || +found[1] !== index) return hash.startsWith(place) && hash !== place ? { bad: true } : null;
  const [, , collective, nranks, nchunks, root, algorithm, nbytes, link, step, task, moves] = found;
  const steps = moves === "0" ? [] : moves.split("-").map((one) => (one.match(/.{1,3}/g) ?? []).map(unpack));
  const s = {
    collective,
    algorithm,
    nranks: +nranks,
    nchunks: +nchunks,
    root: root === "x" ? null : +root,
    nswitches: 0,
    steps,
  };
  const state = { s, nbytes: +nbytes, link, step: +step, task: task === "own" ? null : task };
  const known = links.some(({ slug }) => slug === link) && (task === "own" || tasks.some(({ name }) => name === task));
  return fits(s) && known && state.nbytes < 2 ** 60 && state.step <= steps.length ? state : { bad: true };
}

// Can it be drawn? What comes from outside is asked first.
export function fits(s) {
  const sized =
    COLLECTIVES.includes(s.collective) &&
    isName(s.algorithm) &&
    s.nranks >= 2 &&
    s.nranks <= 8 &&
    s.nchunks >= 1 &&
    s.nchunks <= Math.max(16, ...chunkCounts(s));
  return sized && !s.nswitches && !(s.root >= s.nranks) && s.steps.length <= MOST_STEPS && !unfit(s) && !unsound(s);
}

// A cell that checks and prices the same schedule.
export function python(s, nbytes, link) {
  const said = `seconds for ${nbytesText(nbytes)}`;
  return cell(
    py`from helpers.collectives import Schedule, check, price`,
    py`from helpers.facts import LINKS`,
    "",
    py`mine = Schedule.parse(${scheduleText(s)})`,
    py`check(mine)`,
    py`print(len(mine.steps), "steps,", price(mine, ${nbytes}, LINKS[${link}]).seconds, ${said})`,
  );
}
