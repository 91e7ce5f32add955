// What links, ports and NICs have carried so far.
import { nbytesText } from "../page/numbers.mjs";
import { nicOf } from "./price.mjs";

// Bytes so far on every link that was used: [{ src, dst, bytes, away: leaves its node }], and on every NIC: id -> [out, in].
export function carried({ cost, link }, state) {
  const [links, nics] = [new Map(), new Map()];
  for (const { messages } of cost.steps.slice(0, state))
    for (const { src, dst, bytes, away } of messages) {
      const known = links.get(`${src}>${dst}`) ?? { src, dst, bytes: 0, away };
      links.set(`${src}>${dst}`, { ...known, bytes: known.bytes + bytes });
      if (away)
        [src, dst].forEach((rank, way) => {
          const id = `${nicOf(link, rank)}`;
          nics.set(
            id,
            (nics.get(id) ?? [0, 0]).map((n, i) => (i === way ? n + bytes : n)),
          );
        });
    }
  return { links: [...links.values()], nics };
}

// NIC ids are "node,nic".
export const nicText = (id) => id.replace(/(\d+),(\d+)/, "NIC $2 of node $1");

// The most loaded link and NIC, in words.
export function loadText(view, state) {
  const { links, nics } = carried(view, state);
  if (!links.length) return "Nothing has moved yet.";
  const most = links.reduce((a, b) => (b.bytes > a.bytes ? b : a));
  const alike = links.filter(({ bytes }) => Math.abs(bytes - most.bytes) < 1e-6 * most.bytes).length;
  const which = `${most.src} to ${most.dst}`;
  const bytes = nbytesText(most.bytes);
  const link = alike > 1 ? `${alike} links, such as ${which}, carried ${bytes} each` : `link ${which} carried ${bytes}`;
  const busiest = Math.max(0, ...[...nics.values()].map(([out]) => out));
  return `Most so far: ${link}${busiest ? `; a NIC sent ${nbytesText(busiest)}` : ""}.`;
}
