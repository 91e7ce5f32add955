// What torch's allocator counted while a step ran on a GPU, in words; "" where nothing was.
import { withUnit } from "../trace/amounts.mjs";

export function counted({ about: { allocator: held } }, unit) {
  if (!held) return "";
  const size = (nbytes) => withUnit(nbytes, unit);
  const segments = `${held.segments} segment${held.segments === 1 ? "" : "s"}`;
  return (
    `The allocator: at most ${size(held.peak_allocated)} in blocks and ${size(held.peak_reserved)} reserved; ` +
    `retries: ${held.retries}. In the end ${size(held.reserved)} reserved in ${segments}, ${size(held.cached)} of it free: ` +
    `the largest block ${size(held.largest)}, and ${size(held.stuck)} between tensors, which no empty_cache() gives back.`
  );
}
