// The alpha-beta price of a schedule, by the same rule as helpers.collectives.price: all chunks from src to dst in a step are one
// message, and a step lasts as long as its busiest send or receive port, or NIC. A switch has a port each way for every peer.
// Of the link's protocols it takes the cheapest; through a switch that the link knows, the whole lasts as long as its busiest port.
import { registers } from "./schedule.mjs";

// Messages of one step, in order of appearance: [{ src, dst, chunks, adds: how many of them are added }]
export function messages(step) {
  const flows = new Map();
  for (const { src, dst, chunk, adds } of step) {
    const key = `${src}>${dst}`;
    if (!flows.has(key)) flows.set(key, { src, dst, chunks: [], adds: 0 });
    flows.get(key).chunks.push(chunk);
    flows.get(key).adds += adds;
  }
  return [...flows.values()];
}

export function chunkBytes(s, nbytes) {
  return nbytes / (s.collective === "all_to_all" ? s.nranks : s.nchunks);
}

const node = (link, rank) => Math.floor(rank / link.gpus);

// Does a message leave its node? Only where there is a link of its own between nodes.
export const crosses = (link, src, dst) => Boolean(link.across) && node(link, src) !== node(link, dst);

// The NIC that a rank goes out and comes in by: [node, which of its NICs]
export const nicOf = (link, rank) => [
  node(link, rank),
  Math.floor(((rank % link.gpus) * (link.nics ?? link.gpus)) / link.gpus),
];

// The lines by which a schedule may go: { call, alpha, bandwidth, protocol }, with nodes as the link has them.
export function lines(s, link) {
  const { switch: through, protocols, across } = link;
  if (s.nswitches && !registers(s) && through && !across) {
    const bandwidth = Math.min(through.bandwidth, through.head * (s.nranks + 1));
    return [{ call: through.call, alpha: 0, bandwidth, protocol: "Simple", streams: true }];
  }
  const own = protocols ?? [link];
  if (!across) return own;
  const both = (line, far) => ({ ...link, ...line, across: far, call: Math.max(line.call ?? 0, far.call ?? 0) });
  const pairs = own.flatMap((line) =>
    (across.protocols ?? []).filter(({ protocol }) => protocol === line.protocol).map((far) => both(line, far)),
  );
  return pairs.length ? pairs : [{ ...both(link, across), protocol: across.protocol }];
}

const portOf = (way, rank, peer, nranks) => (rank < nranks ? `${way} ${rank}` : `${way} ${rank} ${peer}`);

// A port serves its messages in turn, alpha and all; a NIC that ranks share passes their bytes in turn, and their alphas together.
function priceStep(sends, size, link, nranks) {
  const [ports, nics] = [new Map(), new Map()];
  const queue = (all, name, alpha, transfer, joint) => {
    const [a, t] = all.get(name) ?? [0, 0];
    all.set(name, [joint ? Math.max(a, alpha) : a + alpha, t + transfer]);
    return joint ? t : a + t;
  };
  const timed = sends.map((m) => {
    const away = crosses(link, m.src, m.dst);
    const { alpha, bandwidth } = away ? link.across : link;
    const bytes = m.chunks.length * size;
    const transfer = bytes * (1 / bandwidth);
    const at = (way, rank, peer) => {
      const port = queue(ports, portOf(way, rank, peer, nranks), alpha, transfer);
      return away ? Math.max(port, queue(nics, `${way} ${nicOf(link, rank)}`, alpha, transfer, true)) : port;
    };
    return { ...m, bytes, sendAt: at("send", m.src, m.dst), recvAt: at("recv", m.dst, m.src), alpha, transfer, away };
  });
  const seconds = Math.max(0, ...[...ports.values(), ...nics.values()].map(([alpha, transfer]) => alpha + transfer));
  return { seconds, messages: timed };
}

// All steps of a line together, squeezed to what its busiest port passes in all.
function streamed(steps, nranks) {
  const used = new Map();
  for (const { src, dst, transfer } of steps.flatMap(({ messages }) => messages))
    for (const port of [portOf("send", src, dst, nranks), portOf("recv", dst, src, nranks)])
      used.set(port, (used.get(port) ?? 0) + transfer);
  const share = Math.max(0, ...used.values()) / total(steps) || 1;
  return steps.map(({ seconds, messages }) => ({
    seconds: share * seconds,
    messages: messages.map((m) => ({
      ...m,
      sendAt: share * m.sendAt,
      recvAt: share * m.recvAt,
      transfer: share * m.transfer,
    })),
  }));
}

const total = (steps) => steps.reduce((sum, { seconds }) => sum + seconds, 0);

// What comes before the first message is of the first step.
function begun([first, ...rest], call) {
  if (!first || !call) return first ? [first, ...rest] : [];
  const messages = first.messages.map((m) => ({ ...m, sendAt: m.sendAt + call, recvAt: m.recvAt + call }));
  return [{ seconds: first.seconds + call, messages }, ...rest];
}

function cheapest(s, size, link) {
  const sends = s.steps.map(messages);
  const all = lines(s, link).map((line) => {
    const alone = sends.map((step) => priceStep(step, size, line, s.nranks));
    const steps = begun(line.streams ? streamed(alone, s.nranks) : alone, line.call);
    return { steps, seconds: total(steps), call: line.call ?? 0, protocol: line.protocol };
  });
  return all.reduce((best, one) => (one.seconds < best.seconds ? one : best));
}

// link: { alpha: seconds, bandwidth: bytes per second, one way per GPU }, where it knows them { protocols: lines, switch }, and for
// nodes { gpus, across: a link, nics: per node }; factor: busbw = algbw * factor.
// -> { steps: [{ start, seconds, messages }], seconds, call: of these, before the first message, protocol, algbw, busbw,
//      sent, received: bytes [step][rank], least: bytes }
export function price(s, nbytes, link, factor) {
  const places = s.nranks + s.nswitches;
  const [sent, received] = [[new Float64Array(places)], [new Float64Array(places)]];
  const { steps: timed, call, protocol } = cheapest(s, chunkBytes(s, nbytes), link);
  let start = 0;
  const steps = timed.map((one, index) => {
    const step = { start, ...one };
    start += step.seconds;
    sent.push(sent[index].slice());
    received.push(received[index].slice());
    for (const m of step.messages) {
      sent[index + 1][m.src] += m.bytes;
      received[index + 1][m.dst] += m.bytes;
    }
    return step;
  });
  const algbw = start ? nbytes / start : nbytes ? Infinity : 0;
  const busbw = factor ? algbw * factor : 0;
  return { steps, seconds: start, call, protocol, algbw, busbw, sent, received, least: factor * nbytes };
}
