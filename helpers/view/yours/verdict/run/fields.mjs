// A value of a run's records by its way there; what is not of its kind is refused with the place. As helpers/yours/run/fields.py.
import { Refused } from "../../../shared/read/refused.mjs";

const [LEAST, MOST] = [1e-9, 1e18];

function at(thing, way) {
  let found = thing;
  for (const step of way) {
    const isThere = typeof step === "number" ? Array.isArray(found) : isObject(found) && Object.hasOwn(found, step);
    found = isThere ? found[step] : null;
  }
  return found;
}

export const isObject = (thing) => typeof thing === "object" && thing !== null && !Array.isArray(thing);

// The value there, if it is of its kind.
function taken(thing, way, is, what) {
  const found = at(thing, way);
  if (!is(found)) throw new Refused(`a run of gpu-check, and damaged: ${way.join(".")}: expected ${what}`);
  return found;
}

const isNumber = (found) => typeof found === "number" && found >= LEAST && found <= MOST;

export const number = (thing, ...way) => taken(thing, way, isNumber, "a number from 1e-9 to 1e18");

export function wholeNumber(thing, ...way) {
  number(thing, ...way);
  return taken(thing, way, Number.isInteger, "a whole number");
}

export const word = (thing, ...way) => taken(thing, way, (found) => typeof found === "string", "a text");

// The places in a list.
export const places = (thing, ...way) => [...taken(thing, way, Array.isArray, "a list").keys()];

// The names in an object.
export const names = (thing, ...way) => Object.keys(taken(thing, way, isObject, "an object"));
