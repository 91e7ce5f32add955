// What NCCL's search makes of GPUs behind an NVSwitch: channels and their speeds. As helpers/nccl/fabric.py, tested equal.
import { ValueError, repr } from "./refused.mjs";

// In one node, or in several.
export function fabricOf({ model }, { generation, links, gpus, nodes = 1, ports = 0, port = 0, cpu }) {
  const nranks = gpus * nodes;
  const told = `generation=${repr(generation)}, links=${links}, gpus=${gpus}, nodes=${nodes}, ports=${ports}`;
  if (Math.min(links, gpus, nodes) < 1 || nranks < 2)
    throw new ValueError(
      `two GPUs or more, with links, are needed, got Fabric(${told}, port=${port}.0, cpu=${repr(cpu)})`,
    );
  if (nodes > 1 && !(ports && port)) throw new ValueError(`${nodes} nodes need network ports`);
  const order = model.generations;
  const newer = order.indexOf(generation) >= order.indexOf("Hopper");
  return { generation, links, gpus, nodes, ports, port, cpu, nranks, newer };
}

// All NVLinks of one GPU, one way, as this version counts them.
export function wire(fabric, release) {
  const link = release.link?.[fabric.generation];
  if (link === undefined) throw new ValueError(`NCCL ${release.version} does not know ${fabric.generation}`);
  return fabric.links * link;
}

// between: nodes, where only Blackwell's list is told apart here; it begins with what a port carries.
function speedsOf({ model }, { generation, port }, release, between = false) {
  const slow = between && generation === "Blackwell" && release.between_100.filter((one) => one <= port);
  if (slow) return slow.length ? slow : release.between_100.slice(-1);
  return { Blackwell: release.speeds_100, Hopper: model.intra_90 }[generation] ?? model.intra;
}

// Down the list of speeds, while a speed is about half of the best one's. byPort: how often a speed fits the ports.
function filled(speeds, limit, slower, byPort) {
  let [channels, speed] = [0, 0];
  for (const next of speeds) {
    if (channels && (channels * speed >= limit || next / speed <= slower)) break;
    const fit = Math.min(Math.trunc(limit / next), byPort(next));
    if (fit * next > channels * speed) [channels, speed] = [fit, next];
  }
  return [channels, speed];
}

export function ring(known, fabric, release) {
  const { search } = known;
  const links = wire(fabric, release);
  const limit = fabric.nodes > 1 ? Math.min(links, fabric.ports * fabric.port) : links;
  const speeds = speedsOf(known, fabric, release, fabric.nodes > 1);
  const each = fabric.nodes > 1 && fabric.generation === "Blackwell"; // a channel goes by one port
  const byPort = (one) => (each ? fabric.ports * Math.trunc(fabric.port / one) : Infinity);
  const [channels, speed] = filled(speeds, limit, search.not_much_slower, byPort);
  if (!channels) {
    const network = `${fabric.ports} ports of ${fabric.port} GB/s`;
    throw new ValueError(`no channel of NCCL ${release.version} is as slow as a node's network: ${network}`);
  }
  const fewOrFast = !fabric.newer || speed >= 50 || channels <= 4;
  const twice = speed >= search.duplicated && fewOrFast;
  const [many, rate] = twice ? [2 * channels, speed / 2] : [channels, speed];
  return { channels: many, inside: rate, between: rate };
}

// As many channels as the ring; the fastest speed of the list that the links carry so often.
export function tree(known, fabric, release) {
  const { channels, inside } = ring(known, fabric, release);
  const under = speedsOf(known, fabric, release, fabric.nodes > 1).filter((one) => one <= inside);
  const speed = under.length ? Math.max(...under) : inside;
  return { channels, inside: speed, between: speed };
}

// One head a GPU; null where there is no NVLS: before Hopper, or for one or two GPUs.
export function nvls(known, fabric, release) {
  if (!fabric.newer || fabric.gpus < 3) return null;
  const [limit, speeds] = [wire(fabric, release), speedsOf(known, fabric, release)];
  const heads = Math.min(known.search.most_heads, fabric.gpus);
  const inside = Math.max(...speeds.filter((one) => one * heads <= limit));
  const between = fabric.nodes === 1 ? speeds[0] : (fabric.port * fabric.ports) / fabric.gpus;
  return { channels: heads, inside, between };
}

// Of a communicator: twice those of the search, and up to 2.27 at least as many as NVLS has thread blocks.
export function channelsOf(known, fabric, release) {
  const found = Math.min(known.search.most_channels, 2 * ring(known, fabric, release).channels);
  return release.rings_as_nvls && nvls(known, fabric, release) ? Math.max(found, nvlsBlocks(fabric, release)) : found;
}

// Thread blocks of NVLS.
export const nvlsBlocks = (fabric, release) =>
  fabric.generation === "Blackwell" ? release.nvls_blocks_100[Math.min(fabric.nodes, 2) - 1] : 16;
