// The whole state as a link and as a line of Python; and whether what comes from outside was recorded.
import { shown } from "../shared/page/copied.mjs";
import { momentsOf, NAMES, ranksOf } from "./steps.mjs";

export const encode = ({ way, beside, at, rank }, index) =>
  `#holds-${index}--way-${way}--beside-${beside || "none"}--at-${at}--rank-${rank}`;

// The spec in a link made for this widget, or null when it is about something else.
export function decode(hash, index) {
  const found = new RegExp(`^#holds-${index}--way-([\\w-]+?)--beside-([\\w-]+?)--at-(\\d{1,4})--rank-(\\d{1,4})$`).exec(
    hash,
  );
  if (!found) return null;
  return { way: found[1], beside: found[2] === "none" ? "" : found[2], at: Number(found[3]), rank: Number(found[4]) };
}

export const fits = (known, { way, beside, at, rank }) =>
  Object.hasOwn(NAMES, way) &&
  (beside === "" || Object.hasOwn(NAMES, beside)) &&
  beside !== way &&
  at < momentsOf(known, way).length &&
  rank < ranksOf(known, way);

export const python = ({ way, beside, at, rank }) =>
  shown("explore_holds", [way], { beside: beside || undefined, at, rank });
