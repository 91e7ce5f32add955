// The rules that a version decides by. As helpers/nccl/releases.py, tested equal.
import { ValueError, repr } from "./refused.mjs";

const WHOLE = /^\s*[+-]?\d+(_\d+)*\s*$/;

// "2.27.7" -> [2, 27, 7]
export function parts({ model }, version) {
  const all = typeof version === "string" ? version.split(".") : [""];
  if (!all.every((part) => WHOLE.test(part)))
    throw new ValueError(`a version is written like ${repr(model.latest)}, got ${repr(version)}`);
  return all.map((part) => Number(part.replaceAll("_", "")));
}

// As Python orders tuples: negative where a comes before b.
export function ordered(a, b) {
  const at = a.findIndex((part, i) => part !== b[i]);
  return at < 0 || at >= b.length ? a.length - b.length : a[at] - b[at];
}

// Those of the newest version read that is not newer than it.
export function releaseOf(known, version) {
  const number = parts(known, version);
  if (ordered(number, [2, 23]) < 0 || ordered(number, [2, 31]) >= 0)
    throw new ValueError(`the rules of NCCL 2.23 to 2.30 are known here, not those of ${version}`);
  return known.releases.findLast((one) => ordered(one.number, number) <= 0);
}
