// The whole state as a link and as a line of Python; and whether what comes from outside can be drawn.
import { shown } from "../shared/page/copied.mjs";
import { REGISTERS, THREADS } from "./count.mjs";

export const encode = ({ gpu, threads, registers, shared }, index) =>
  `#occupancy-${index}--gpu-${gpu}--threads-${threads}--registers-${registers}--shared-${shared}`;

// The spec in a link made for this widget, or null when it is about something else.
export function decode(hash, index) {
  const found = new RegExp(
    `^#occupancy-${index}--gpu-([\\w-]+?)--threads-(\\d+)--registers-(\\d+)--shared-(\\d+)$`,
  ).exec(hash);
  return found && { gpu: found[1], threads: +found[2], registers: +found[3], shared: +found[4] };
}

export function fits(gpus, { gpu, threads, registers, shared }) {
  const one = gpus.find(({ name }) => name === gpu);
  return (
    Boolean(one) &&
    threads >= 1 &&
    threads <= THREADS &&
    registers >= 0 &&
    registers <= REGISTERS &&
    shared >= 0 &&
    shared <= one.most
  );
}

export const python = ({ gpu, threads, registers, shared }) =>
  shown("explore_occupancy", [gpu], { threads, registers, shared });
