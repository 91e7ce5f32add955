// The whole state as a link and as a line of Python; and whether what comes from outside can be drawn.
import { shown } from "../shared/page/copied.mjs";
import { GRAINS, known, lanesOf, moment } from "./lanes.mjs";

export const encode = ({ link, nbytes, at }, index) => `#clock-${index}--link-${link}--nbytes-${nbytes}--at-${at}`;

// The spec in a link made for this widget, or null when it is about something else.
export function decode(hash, index) {
  const found = new RegExp(`^#clock-${index}--link-([\\w-]+?)--nbytes-(\\d+)--at-(\\d+)$`).exec(hash);
  return found && { link: found[1], nbytes: +found[2], at: +found[3] };
}

export function fits(links, protocols, { link, nbytes, at }) {
  const one = known(links, protocols).find(({ slug }) => slug === link);
  const grain = Math.log2(nbytes);
  if (!one || !Number.isInteger(grain) || grain < GRAINS[0] || grain > GRAINS[1]) return false;
  return at <= Math.max(...lanesOf(one, protocols, nbytes).map(({ end }) => moment(end)));
}

export const python = ({ link, nbytes, at }) => shown("clock", [nbytes], { link, at });
