// The verdict on a memory snapshot of PyTorch: what is largest, and how much is reserved and free. As helpers/yours/snapshots.py.
import { allocated, devices, segments } from "../../shared/read/snapshot/snapshot.mjs";
import { cause, verdict } from "./empty.mjs";
import { least, nbytesText } from "./texts.mjs";

const WHAT = "a memory snapshot of PyTorch";
const sum = (list) => list.reduce((all, one) => all + one, 0);
const most = (list) => list.reduce((largest, one) => Math.max(largest, one), 0);
const isFree = ({ state }) => state === "inactive";

// Of the device with the most reserved.
export function ofSnapshot(known, snapshot) {
  const all = devices(snapshot);
  if (!all.length) return verdict("snapshot", { what: WHAT, sentence: "It holds no segment: nothing was reserved." });
  const reservedOn = (device) => sum(segments(snapshot, device).map(({ size }) => size));
  const device = least(all, (one) => -reservedOn(one));
  const own = segments(snapshot, device);
  const blocks = own.flatMap((segment) => segment.blocks);
  const live = blocks.filter((block) => !isFree(block)).map(({ requested }) => requested);
  const holes = blocks.filter(isFree).map(({ size }) => size);
  const [reserved, taken] = [reservedOn(device), sum(own.map(allocated))];
  const what = `${WHAT}, GPU ${device}: ${own.length} segments, ${live.length} live blocks`;
  const largest = live.length ? `; the largest live block holds ${nbytesText(most(live))}` : "";
  const piece = holes.length ? `; the largest free piece has ${nbytesText(most(holes))}.` : "; no free piece.";
  const sentence = `${nbytesText(reserved)} reserved, ${nbytesText(taken)} of it in use${largest}${piece}`;
  return verdict("snapshot", { what, sentence, causes: loose(known, reserved, taken, holes) });
}

function loose(known, reserved, taken, holes) {
  const { share, least: few } = known.loose;
  const free = reserved - taken;
  if (!holes.length || free < Math.max(few, share * reserved)) return [];
  const why =
    `${nbytesText(free)} of ${nbytesText(reserved)} are reserved and free, in ${holes.length} pieces;` +
    ` a tensor larger than ${nbytesText(most(holes))} fits into none of them`;
  return [cause(known, "fragmentation", why)];
}
