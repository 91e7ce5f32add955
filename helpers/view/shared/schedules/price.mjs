// The alpha-beta price of a schedule, by the same rule as helpers.collectives.price: all chunks from src to dst in a step are one
// message, and a step lasts as long as its busiest send or receive port, or NIC. A switch has a port each way for every peer.
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

// A port serves its messages in turn, alpha and all; a NIC that ranks share passes their bytes in turn, and their alphas together.
function priceStep(step, size, link, nranks) {
  const [ports, nics] = [new Map(), new Map()];
  const queue = (all, name, alpha, transfer, joint) => {
    const [a, t] = all.get(name) ?? [0, 0];
    all.set(name, [joint ? Math.max(a, alpha) : a + alpha, t + transfer]);
    return joint ? t : a + t;
  };
  const sends = messages(step).map((m) => {
    const away = crosses(link, m.src, m.dst);
    const { alpha, bandwidth } = away ? link.across : link;
    const bytes = m.chunks.length * size;
    const transfer = bytes * (1 / bandwidth);
    const at = (way, rank, peer) => {
      const port = queue(ports, rank < nranks ? `${way} ${rank}` : `${way} ${rank} ${peer}`, alpha, transfer);
      return away ? Math.max(port, queue(nics, `${way} ${nicOf(link, rank)}`, alpha, transfer, true)) : port;
    };
    return { ...m, bytes, sendAt: at("send", m.src, m.dst), recvAt: at("recv", m.dst, m.src), alpha, transfer, away };
  });
  const seconds = Math.max(0, ...[...ports.values(), ...nics.values()].map(([alpha, transfer]) => alpha + transfer));
  return { seconds, messages: sends };
}

// link: { alpha: seconds, bandwidth: bytes per second, one way per GPU } and, for nodes, { gpus, across: a link, nics: per node };
// factor: busbw = algbw * factor.
// -> { steps: [{ start, seconds, messages }], seconds, algbw, busbw, sent, received: bytes [step][rank], least: bytes }
export function price(s, nbytes, link, factor) {
  const size = chunkBytes(s, nbytes);
  const places = s.nranks + s.nswitches;
  const [sent, received] = [[new Float64Array(places)], [new Float64Array(places)]];
  let start = 0;
  const steps = s.steps.map((transfers, index) => {
    const step = { start, ...priceStep(transfers, size, link, s.nranks) };
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
  return { steps, seconds: start, algbw, busbw: factor ? algbw * factor : 0, sent, received, least: factor * nbytes };
}
