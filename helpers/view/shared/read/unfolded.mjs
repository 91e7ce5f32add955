// A file's bytes, unpacked where gzip packed it: no further than is read, whatever a few kilobytes may hold. As helpers/plain_gzip.py.
import { Refused } from "./refused.mjs";

const isPacked = ([first, second]) => first === 0x1f && second === 0x8b;

// Cut off behind `most` bytes, so that whoever gets more refuses it; Refused for what is damaged.
export async function unfolded(bytes, most) {
  if (!isPacked(bytes)) return bytes;
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  const parts = [];
  try {
    for (let read = 0; read <= most;) {
      const { done, value } = await reader.read();
      if (done) break;
      parts.push(value);
      read += value.length;
    }
  } catch {
    throw new Refused("packed by gzip and damaged");
  }
  await reader.cancel();
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}
