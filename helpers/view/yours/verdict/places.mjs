// On what machine a number was taken: told, or as far as a text's list of devices says. As helpers/yours/places.py.

// All network ports of one node, bytes per second one way; 0 where they are not known.
export const portsOf = ({ across, gpus }) => (across === null ? 0 : across * gpus);

// The same machine with so many of its network ports in use.
export const withPorts = (place, count) => ({ ...place, nics: count, across: place.across * (count / place.nics) });

// Whether so many ranks fit into one domain, so that no network takes part.
export const isAlone = ({ domain, gpus }, nranks) => nranks <= Math.max(domain, gpus);

// What a ring over so many GPUs could pass at most, one way; null where its network is not known.
export function lineRate(place, nranks) {
  if (isAlone(place, nranks)) return place.inside;
  return portsOf(place) ? Math.min(place.inside, portsOf(place)) : null;
}

// "NVIDIA H100 80GB HBM3" -> "H100"; null for a GPU that the machines do not have.
export function acceleratorOf({ names }, name) {
  const found = names.find(([pattern]) => new RegExp(pattern).test(name));
  return found ? found[1] : null;
}

// A machine with these GPUs, as many nodes as there are hosts, and no word of the network.
export function foundPlace(known, devices) {
  const keys = new Set(devices.map(({ name }) => acceleratorOf(known, name)));
  const [key] = keys;
  if (keys.size !== 1 || !known.by_gpu[key]) return null;
  const hosts = new Set(devices.map(({ host }) => host)).size;
  const place = { ...known.places[known.by_gpu[key]], told: false, accelerator: key };
  if (hosts === 1 || place.domain > place.gpus) return place;
  const each = Math.max(1, Math.floor(devices.length / hosts));
  return { ...place, gpus: each, domain: each, nodes: hosts, across: null, nics: 0 };
}

// From what CUDA calls the GPUs of one node, and no word of the network.
export function gpuPlace(known, gpus) {
  const place = foundPlace(
    known,
    gpus.map((name) => ({ name, host: "" })),
  );
  return place && { ...place, across: null, nics: 0 };
}
