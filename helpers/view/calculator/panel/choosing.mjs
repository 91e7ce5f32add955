// The controls as one sentence, and what still fits when one of them changes.
import { h } from "../../shared/page/dom.mjs";

const POWERS = (from, to) => Array.from({ length: Math.log2(to / from) + 1 }, (_, i) => from * 2 ** i);
const NAMES = {
  precision: {
    bf16: "bf16 with fp32 master weights",
    "bf16-fp32grads": "bf16 with fp32 gradients",
    "bf16-true": "bf16 throughout",
    fp32: "fp32",
    autocast: "autocast to bf16",
  },
  optimizer: {
    adamw: "AdamW, a loop",
    "adamw-foreach": "AdamW, foreach",
    "adamw-fused": "AdamW, fused",
    sgd: "SGD without momentum",
  },
  attention: { flash: "flash attention", math: "attention written out" },
  checkpoint: { none: "no checkpointing", selective: "selective checkpointing", full: "full checkpointing" },
  zero: { 0: "nothing sharded", 1: "ZeRO-1", 2: "ZeRO-2", 3: "ZeRO-3" },
  width: { 1: "8", 2: "16", 4: "32" },
  cache: { 1: "8", 2: "16" },
};
export const TRAINING = {
  precision: "bf16",
  optimizer: "adamw",
  attention: "flash",
  checkpoint: "none",
  zero: 0,
  data: 8,
  tensor: 1,
  sequence: false,
};
export const SERVING = { width: 2, cache: 2 };
const RANKS = POWERS(2, 1024);

function pick(label, values, chosen, onChange, text = (value) => value.toLocaleString("en-US")) {
  const all = values.includes(chosen) ? values : [...values, chosen].sort((a, b) => a - b);
  const node = h(
    "select",
    { "aria-label": label, change: () => onChange(all[node.selectedIndex]) },
    all.map((value) => h("option", { value: `${value}`, selected: value === chosen }, text(value))),
  );
  return node;
}

export const find = (forms, name) => forms.models.find((one) => one.name === name);

const TOKENS = POWERS(256, 131072);
const tokens = (model, mode) => TOKENS.filter((n) => !(model.learned && mode === "train") || n <= model.context);

// The ways to split a block's matrices that this model allows: [ranks, sequence too]
const splits = (model) =>
  Object.keys(model.ranks).flatMap((t) =>
    t === "1"
      ? [[1, false]]
      : [
          [+t, false],
          [+t, true],
        ],
  );

const splitText = ([t, sequence]) =>
  t === 1 ? "whole blocks" : `blocks split among ${t}${sequence ? ", sequence too" : ""}`;

// What is computed of a wish: whatever the model cannot do falls back.
export function changed(forms, next) {
  const model = find(forms, next.model);
  const mode = model.latent ? "serve" : next.mode;
  const common = {
    model: next.model,
    mode,
    batch: next.batch,
    device: next.device,
    seq: model.learned && mode === "train" ? Math.min(next.seq, model.context) : next.seq,
  };
  const usual = mode === "train" ? TRAINING : SERVING;
  const kept = Object.fromEntries(Object.entries(usual).map(([key, value]) => [key, next[key] ?? value]));
  if (mode === "train" && (!model.ranks[kept.tensor] || (kept.sequence && common.seq % kept.tensor)))
    Object.assign(kept, { tensor: 1, sequence: false });
  return { ...common, ...kept };
}

// Can it be computed? What comes from outside is asked first.
export function fits(forms, spec) {
  const model = find(forms, spec?.model);
  const whole = (n) => Number.isInteger(n) && n >= 1 && n <= 2 ** 20;
  const named = (...keys) => keys.every((key) => Object.hasOwn(NAMES[key], spec[key]));
  if (!model || !Object.hasOwn(forms.devices, spec.device) || !whole(spec.batch) || !whole(spec.seq)) return false;
  if (spec.mode === "serve") return named("width", "cache");
  return (
    spec.mode === "train" &&
    named("precision", "optimizer", "attention", "checkpoint", "zero") &&
    !model.latent &&
    Object.hasOwn(model.ranks, spec.tensor) &&
    RANKS.includes(spec.data) &&
    (!spec.sequence || spec.seq % spec.tensor === 0) &&
    typeof spec.sequence === "boolean" &&
    (!model.learned || spec.seq <= model.context)
  );
}

// A choice and the comma behind it stay in one line.
const listed = (node) => h("span", { class: "bim-calc-choice" }, node, ",");

function trained(forms, spec, set, named) {
  const all = splits(find(forms, spec.model)).filter(([t, sequence]) => !sequence || spec.seq % t === 0);
  const at = all.findIndex(([t, sequence]) => t === spec.tensor && sequence === spec.sequence);
  const sharding = named("Sharding", "zero", Number);
  const split = pick(
    "Split of the blocks",
    all.map((_, i) => i),
    at,
    (i) => set()({ tensor: all[i][0], sequence: all[i][1] }),
    (i) => splitText(all[i]),
  );
  return [
    " in ",
    named("Precision", "precision"),
    " with ",
    listed(named("Optimizer", "optimizer")),
    " ",
    listed(named("Attention", "attention")),
    " ",
    listed(named("Checkpointing", "checkpoint")),
    " ",
    spec.zero > 0
      ? [sharding, " among ", pick("Ranks that shard", RANKS, spec.data, set("data")), " ranks,"]
      : listed(sharding),
    " ",
    listed(split),
  ];
}

// onChange(change): what the reader chose, as a part of the spec
export function controls(forms, spec, onChange) {
  const set = (name) => (value) => onChange(name ? { [name]: value } : value);
  const named = (label, key, kind = String) =>
    pick(label, Object.keys(NAMES[key]).map(kind), spec[key], set(key), (value) => NAMES[key][value]);
  const model = find(forms, spec.model);
  const plural = (word) => ` ${word}${spec.batch === 1 ? "" : "s"} of `;
  const modes = model.latent ? ["serve"] : ["train", "serve"];
  const serving = spec.mode === "serve";
  return h(
    "p",
    { class: "bim-controls" },
    pick(
      "Model",
      forms.models.map(({ name }) => name),
      spec.model,
      set("model"),
    ),
    " ",
    pick("Use", modes, spec.mode, set("mode"), (value) => (value === "serve" ? "serves" : "trains on")),
    " ",
    pick("Batch", POWERS(1, 1024), spec.batch, set("batch")),
    plural(serving ? "request" : "sequence"),
    pick("Tokens", tokens(model, spec.mode), spec.seq, set("seq")),
    " tokens",
    serving
      ? [
          ", weights in ",
          named("Bits of a weight", "width", Number),
          " bits, cache in ",
          named("Bits of the cache", "cache", Number),
          " bits,",
        ]
      : trained(forms, spec, set, named),
    " on a device like ",
    pick("Device", Object.keys(forms.devices), spec.device, set("device")),
  );
}
