// The whole state as a link and as a line of Python. A reader's own schedule stands at the end of a link, unless it is the page's own.
import { call, cell, py, tuple } from "../shared/page/copied.mjs";

const PARTS = [
  "schedule",
  "nranks",
  "nmicrobatches",
  "nvirtual",
  "forward",
  "input",
  "weight",
  "hop",
  "versus",
  "step",
];
const WORDS = ["schedule", "versus"];
const OWN = "own";

const shown = (s, part) => (part === "schedule" && s.text ? OWN : s[part] === "" ? "none" : s[part]);

const packed = (text) => encodeURIComponent(text).replaceAll("%20", "+");
const unpacked = (words) => decodeURIComponent(words.replaceAll("+", "%20"));

export function encode(s, index, base) {
  const parts = PARTS.map((part) => `--${part}-${shown(s, part)}`).join("");
  return `#pipeline-${index}${parts}${s.text && s.text !== base.text ? `--text-${packed(s.text)}` : ""}`;
}

// The spec in a link made for this widget, over the author's own; null when it is about something else. drawn: of own.mjs
export function decode(hash, index, base, drawn) {
  const values = PARTS.map((part) => `--${part}-(${WORDS.includes(part) ? "[\\w-]+?" : "[\\d.]+"})`).join("");
  const found = new RegExp(`^#pipeline-${index}${values}(?:--text-([\\w.~!*'()%+-]+))?$`).exec(hash);
  if (!found) return null;
  const told = PARTS.map((part, i) => [part, WORDS.includes(part) ? found[i + 1] : Number(found[i + 1])]);
  const { schedule, versus, ...rest } = Object.fromEntries(told);
  const whole = { ...base, ...rest, schedule, text: "", versus: versus === "none" ? "" : versus };
  if (schedule !== OWN) return whole;
  return { ...whole, ...ownOf(found[PARTS.length + 1], base, drawn) };
}

// The page's own schedule, or one that travels in the link; nothing where there is none, or it cannot be drawn.
function ownOf(words, { schedule, text }, drawn) {
  if (!words) return text && { schedule, text };
  try {
    return drawn(unpacked(words));
  } catch {
    return undefined; // no text at all
  }
}

export function python(s, weaves) {
  const first = s.text ? py`PipelineSchedule.parse(${s.text})` : s.schedule;
  const size = s.text ? {} : { nranks: s.nranks, nmicrobatches: s.nmicrobatches };
  const options = {
    ...size,
    nvirtual: weaves ? s.nvirtual : undefined,
    times: tuple([s.forward, s.input, s.weight, s.hop]),
    versus: s.versus || undefined,
    step: s.step,
  };
  const more = s.text ? [py`from helpers.pipeline import PipelineSchedule`] : [];
  return cell(...more, py`from helpers.view import explore_pipeline`, "", call("explore_pipeline", [first], options));
}
