// What the calculator says: the sentence, the names of moments and classes, and what neither a formula nor a run of operators has.
const UNITS = [
  ["TiB", 1024 ** 4],
  ["GiB", 1024 ** 3],
  ["MiB", 1024 ** 2],
  ["KiB", 1024],
  ["B", 1],
];

// One unit for a whole picture, that of its largest number: 108 GiB, 19.3 GiB, 0.49 GiB.
export const unitOf = (nbytes) => UNITS.find(([, size]) => size <= nbytes) ?? UNITS.at(-1);

export function sized(nbytes, [name, size]) {
  const value = nbytes / size;
  if (value > 0 && value < 0.005) return `< 0.01 ${name}`;
  return `${value >= 99.95 ? Math.round(value).toLocaleString("en-US") : value >= 9.995 ? value.toFixed(1) : value.toFixed(2)} ${name}`;
}

export const AT = {
  forward: "at the end of forward",
  loss: "at the loss, as backward begins",
  "last block": "in the last block's backward",
  reduction: "as the last block's gradients are reduced",
  "last reduction": "as the gradients of embedding and head are reduced",
  "first block": "in the first block's backward",
  optimizer: "in the optimizer's step",
  serving: "with every request at its longest",
};

export const CLASSES = {
  parameter: ["Weights", "parameters"],
  gradient: ["Gradients", "gradients"],
  optimizer: ["Optimizer", "optimizer"],
  input: ["Input", "input"],
  cache: ["KV cache", "cache"],
  activation: ["Activations", "activations"],
  communication: ["Communication", "communication"],
  temporary: ["Temporaries", "temporary"],
};

export const colour = (cls) => `var(--bim-memory-${CLASSES[cls][1]})`;

const many = (n, one) => `${n.toLocaleString("en-US")} ${one}${n === 1 ? "" : "s"}`;

// "28 GiB more than one H100 has" | "6.2 GiB less than ..."
export function against(nbytes, capacity, device, unit) {
  const rest = capacity - nbytes;
  return `${sized(Math.abs(rest), unit)} ${rest < 0 ? "more" : "less"} than one ${device} has`;
}

// What the reader hears and reads when something changes.
export function sentence(spec, top, capacity) {
  const what =
    spec.mode === "serve"
      ? `serves ${many(spec.batch, "request")} of ${many(spec.seq, "token")}`
      : `trains on ${many(spec.batch, "sequence")} of ${many(spec.seq, "token")}`;
  const unit = unitOf(top.nbytes);
  return `${spec.model} ${what}: ${sized(top.nbytes, unit)} ${AT[top.name]}, ${against(top.nbytes, capacity, spec.device, unit)}.`;
}

// What of a wish was not taken, and why; and a context longer than the model's own.
export function remarks(wish, spec, model) {
  const said = [];
  if (wish.mode !== spec.mode) said.push(`What ${model.name} keeps in training is not counted here: it serves.`);
  if (wish.seq > spec.seq) said.push(`${model.name} has positions for ${many(model.context, "token")}, no more.`);
  if (spec.mode === "train" && (wish.tensor ?? 1) !== spec.tensor)
    said.push(`Its blocks cannot be split among ${wish.tensor} like this: they are whole.`);
  if (spec.seq > model.context)
    said.push(`That is beyond the ${many(model.context, "token")} for which ${model.name} was made.`);
  return said;
}

export const NOWHERE =
  "In neither: the CUDA context, what a kernel allocates inside itself (cuBLAS and flash attention workspaces), " +
  "NCCL's buffers, and memory that the caching allocator holds in reserve.";

export const ONLY = {
  train: "Counted is what one rank holds, in the second step or later.",
  serve:
    "Weights of a mixture count all experts, for any token may visit any. " +
    "The activations of a decoding step are small and are not counted.",
};
