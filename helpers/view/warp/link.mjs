// The whole state as a link and as a line of Python; and whether what comes from outside can be drawn.
import { shown } from "../shared/page/copied.mjs";
import { BRANCHES } from "./lanes.mjs";

export const VIEWS = ["branch", "memory", "banks"];
export const ELEMENTS = [2, 4, 8];
export const MOST = { taken: 8, other: 8, stride: 33, offset: 128 };

export const encode = ({ view, branch, taken, other, stride, offset, nbytes }, index) =>
  `#warp-${index}--view-${view}--branch-${BRANCHES.indexOf(branch)}--taken-${taken}--other-${other}` +
  `--stride-${stride}--offset-${offset}--nbytes-${nbytes}`;

// The spec in a link made for this widget, or null when it is about something else.
export function decode(hash, index) {
  const found = new RegExp(
    `^#warp-${index}--view-(\\w+)--branch-(\\d+)--taken-(\\d+)--other-(\\d+)--stride-(\\d+)--offset-(\\d+)--nbytes-(\\d+)$`,
  ).exec(hash);
  if (!found) return null;
  const [taken, other, stride, offset, nbytes] = found.slice(3).map(Number);
  return { view: found[1], branch: BRANCHES[+found[2]], taken, other, stride, offset, nbytes };
}

export const fits = (s) =>
  VIEWS.includes(s.view) &&
  BRANCHES.includes(s.branch) &&
  ELEMENTS.includes(s.nbytes) &&
  s.taken >= 1 &&
  s.other >= 1 &&
  s.offset % 4 === 0 &&
  Object.entries(MOST).every(([name, most]) => s[name] <= most);

const OPTIONS = { branch: ["branch", "taken", "other"], memory: ["stride", "offset", "nbytes"], banks: ["stride"] };

export const python = (s) =>
  shown("explore_warp", [s.view], Object.fromEntries(OPTIONS[s.view].map((name) => [name, s[name]])));
