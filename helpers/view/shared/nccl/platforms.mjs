// A machine as the predictions need it. As helpers/nccl/platforms.py, tested equal.
import { fabricOf } from "./fabric.mjs";
import { NotPredicted, ValueError } from "./refused.mjs";

const PLAIN = { nodes: 1, ports: 0, port: 0, cpu: "Intel", launch: null, note: "" };

// machine: a key of known.machines, what stands behind it, or { accelerator, gpus, ... } as Python's Platform.
export function platform(known, machine, launch = null) {
  const found = typeof machine === "string" ? known.machines[machine] : machine;
  if (!found) throw new ValueError(`no machine ${machine}; there are: ${Object.keys(known.machines).join(", ")}`);
  const own = "shape" in found ? ofFacts(found) : { ...PLAIN, ...found };
  if (launch ?? own.launch) return { ...own, launch: launch ?? own.launch };
  const model = known.platforms.like[own.accelerator] ?? own.accelerator;
  const like = known.launches[model];
  if (!like) return { ...own, note: "no launch of this GPU is known: measure one (launch_of)" };
  return { ...own, launch: like, note: model === own.accelerator ? "" : `launch and hop as measured on ${model}` };
}

// Machines of one NVLink domain over several hosts count as one node, as NCCL's multi-node NVLink does.
function ofFacts({ accelerator, gpus, nodes, domain, shape, nics, cpu, across }) {
  if (shape !== "switch")
    throw new NotPredicted(
      `${gpus} ${accelerator}, ${shape}: no NVSwitch joins them, so no time is predicted;` +
        " measure, and take the line and its spread (helpers.nccl.runs.line_and_spread)",
    );
  const together = Math.min(domain, gpus * nodes);
  const hosts = Math.max(1, Math.floor(together / gpus));
  const port = across == null ? 0 : (across * gpus) / Math.max(1, nics) / 1e9;
  const many = Math.max(1, Math.floor((gpus * nodes) / together));
  return { ...PLAIN, accelerator, gpus: together, nodes: many, ports: nics * hosts, port, cpu: cpu ?? "Intel" };
}

function generationOf({ platforms }, accelerator) {
  const found = platforms.generation[accelerator];
  if (found) return found;
  const all = Object.keys(platforms.generation).join(", ");
  throw new NotPredicted(`NCCL's model is known here for ${all}, not for ${accelerator}`);
}

// The GPUs that take part: whole nodes, or some of one node.
export function fabricWith(known, { accelerator, gpus, nodes, ports, port, cpu }, asked) {
  const nranks = asked ?? gpus * nodes;
  const generation = generationOf(known, accelerator);
  const links = known.platforms.links[generation];
  if (nranks <= gpus) return fabricOf(known, { generation, links, gpus: nranks, cpu });
  if (nranks % gpus || nranks > gpus * nodes)
    throw new ValueError(`${nranks} ranks are not whole nodes of ${gpus} GPUs, of ${nodes} nodes`);
  return fabricOf(known, { generation, links, gpus, nodes: nranks / gpus, ports, port, cpu });
}
