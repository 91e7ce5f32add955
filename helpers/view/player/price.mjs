// The alpha-beta price of a schedule, by the same rule as helpers.collectives.price: all chunks from src to dst in a step are one
// message, and a step lasts as long as its busiest send or receive port. A switch has one of each for every peer.

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

function priceStep(step, size, link, nranks) {
  const beta = 1 / link.bandwidth;
  const ports = new Map();
  const use = (port, bytes) => {
    const [alpha, transfer] = ports.get(port) ?? [0, 0];
    ports.set(port, [alpha + link.alpha, transfer + bytes * beta]);
    return alpha + transfer;
  };
  const sends = messages(step).map((m) => {
    const bytes = m.chunks.length * size;
    const out = m.src < nranks ? `send ${m.src}` : `send ${m.src} ${m.dst}`;
    const into = m.dst < nranks ? `recv ${m.dst}` : `recv ${m.dst} ${m.src}`;
    const [sendAt, recvAt] = [use(out, bytes), use(into, bytes)];
    return { ...m, bytes, sendAt, recvAt, alpha: link.alpha, transfer: bytes * beta };
  });
  const seconds = Math.max(0, ...[...ports.values()].map(([alpha, transfer]) => alpha + transfer));
  return { seconds, messages: sends };
}

// link: { alpha: seconds, bandwidth: bytes per second, one way per GPU }; factor: busbw = algbw * factor.
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
