// The whole state as a link and as a line of Python; and whether what comes from outside can be drawn.
import { shown } from "../shared/page/copied.mjs";
import { ALL, MOST, NAMES, NODES, nranksOf, refusal } from "./axes.mjs";

const NONE = "none";

export function encode({ axes, expert, gpus, axis, rank }, index) {
  const order = axes.map(([name, size]) => `${name}.${size}`).join("_");
  return `#mesh-${index}--axes-${order}--expert-${expert}--gpus-${gpus}--axis-${axis || NONE}--rank-${rank ?? NONE}`;
}

// The spec in a link made for this widget, or null when it is about something else.
export function decode(hash, index) {
  const found = new RegExp(
    `^#mesh-${index}--axes-([\\w.]+?)--expert-(\\d{1,3})--gpus-(\\d{1,3})--axis-(\\w+)--rank-(\\d{1,3}|${NONE})$`,
  ).exec(hash);
  if (!found) return null;
  const axes = found[1].split("_").map((one) => {
    const [, name, size] = /^([a-z]+)\.(\d+)$/.exec(one) ?? [];
    return [name, Number(size)];
  });
  const [axis, rank] = [found[4] === NONE ? "" : found[4], found[5] === NONE ? null : Number(found[5])];
  return { axes, expert: Number(found[2]), gpus: Number(found[3]), axis, rank };
}

const isSize = (size) => Number.isInteger(size) && size >= 1 && size <= MOST;

export const fits = (s) =>
  JSON.stringify(s.axes.map(([name]) => name).toSorted()) === JSON.stringify(NAMES.toSorted()) &&
  s.axes.every(([, size]) => isSize(size)) &&
  isSize(s.expert) &&
  NODES.includes(s.gpus) &&
  (s.axis === "" || ALL.includes(s.axis)) &&
  refusal(s) === "" &&
  (s.rank === null || s.rank < nranksOf(s));

export const python = ({ axes, expert, gpus, axis, rank }) =>
  shown("explore_mesh", [], { ...Object.fromEntries(axes), expert, gpus, axis, rank });
