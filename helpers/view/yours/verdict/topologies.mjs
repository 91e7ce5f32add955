// The verdict on `nvidia-smi topo -m`: the best ring, the worst pair, how far the network cards are. As helpers/yours/topologies.py.
import {
  WORDS,
  bestRingOf,
  edgesOf,
  gpusOf,
  linksOf,
  nearestOf,
  rankOf,
  wayOf,
  worstHopOf,
} from "../../shared/read/tables/topo.mjs";
import { cause, verdict } from "./empty.mjs";
import { counted, least } from "./texts.mjs";

const worst = (list, wayIn) => least(list, (one) => rankOf(wayIn(one)));
const cardsOf = ({ nics }) => Object.keys(nics);

// The way from a GPU to the nearest of its network cards.
const toCard = (topology, gpu) => wayOf(topology, gpu, nearestOf(topology, gpu)[0]);

export function ofTopology(known, topology) {
  const [gpus, cards] = [gpusOf(topology), cardsOf(topology)];
  const parts = `${counted(gpus.length, "GPU")} and ${counted(cards.length, "network card")}`;
  const what = `a machine of ${parts}, from nvidia-smi topo -m`;
  const ring = bestRingOf(topology);
  const hop = worstHopOf(topology, ring);
  if (hop === null) return verdict("topology", { what, sentence: "One GPU: there is no way to another." });
  const order = [...ring.order, ring.order[0]].join(" - ");
  const pair = worst(edgesOf(topology, gpus), ({ way }) => way);
  const worse = pair.way === hop.way ? " No pair is worse." : ` The worst pair of all is ${hopText(pair)}.`;
  const sentence = `The best ring is ${order}; its worst hop is ${hopText(hop)}.${worse}${cardsText(topology)}`;
  return verdict("topology", { what, sentence, causes: causes(known, topology, hop) });
}

function causes(known, topology, hop) {
  const [gpus, cards] = [gpusOf(topology), cardsOf(topology)];
  const found = [];
  const add = (name, why, accuses = null) => found.push(cause(known, name, why, { gpus: gpus.length, accuses }));
  if (!linksOf(hop.way)) {
    const some = edgesOf(topology, gpus).some(({ way }) => linksOf(way)) ? ", though some pairs have NVLinks" : "";
    const ring = `every ring over all ${gpus.length} GPUs has a hop ${WORDS[hop.way]}`;
    add("wrong path", `${ring}, so none is faster than that${some}`);
  }
  const far = cards.length ? gpus.filter((gpu) => !known.near.includes(toCard(topology, gpu))) : [];
  if (far.length) {
    const more = far.length > 1 ? `; so do ${far.length - 1} more` : "";
    const way = `${far[0]} reaches its nearest card ${WORDS[toCard(topology, far[0])]}`;
    add(
      "far NIC",
      `${way}: too far for the card to read the GPU's memory itself, unless NVLink-C2C joins GPU and processor${more}`,
    );
  }
  if (cards.length && 2 * cards.length < gpus.length) {
    const some = `${counted(cards.length, "card")} for ${gpus.length} GPUs`;
    add("too few NICs", `${some}: between nodes they share what the cards pass`, false);
  }
  return found;
}

// The nearest card of the GPU that is worst off.
function cardsText(topology) {
  if (!cardsOf(topology).length) return " There is no network card in it.";
  const ways = gpusOf(topology).map((gpu) => toCard(topology, gpu));
  return ` The nearest network card of a GPU is ${worst(ways, (way) => way)} away at worst.`;
}

function hopText({ one, other, way }) {
  const links = linksOf(way) ? `${linksOf(way)} NVLinks` : WORDS[way];
  return `${one} to ${other}, ${way} (${links})`;
}
