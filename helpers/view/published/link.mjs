// The whole state as a link and as a line of Python; and whether what comes from outside can be drawn.
import { shown } from "../shared/page/copied.mjs";
import { LETTERS } from "./data/words.mjs";

const flag = (is) => (is ? 1 : 0);

export const encode = ({ curves, at, axis, model, line }, index) =>
  `#published-${index}--curves-${curves.join("+")}--at-${at}--axis-${axis}--model-${flag(model)}--line-${flag(line)}`;

// The spec in a link made for this widget, or null when it is about something else.
export function decode(hash, index) {
  const shape = `^#published-${index}--curves-([\\w.+-]+?)--at-(\\d+)--axis-(\\w+)--model-([01])--line-([01])$`;
  const found = new RegExp(shape).exec(hash);
  if (!found) return null;
  const [, curves, at, axis, model, line] = found;
  return { curves: curves.split("+"), at: +at, axis, model: model === "1", line: line === "1" };
}

export function fits(runs, { curves, at, axis }) {
  const shown = curves.map((key) => runs.find((run) => run.key === key));
  const isWhole = shown.every(Boolean) && shown.length <= LETTERS.length && new Set(curves).size === curves.length;
  return isWhole && ["busbw", "time"].includes(axis) && shown.some(({ sizes }) => sizes.includes(at));
}

export const python = ({ curves, at, axis, model, line }) =>
  shown("explore_published", curves, { at, axis, model, line });
