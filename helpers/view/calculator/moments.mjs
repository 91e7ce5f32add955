// What stands in memory at each moment of a step, as helpers.memory.closed_form.moments has it; and what a server holds.
import { activations, cast, flickering, gathered, held, numbersOf } from "./held.mjs";
import { operator, operators, term, total } from "./lists.mjs";

// What a choice comes to, before any moment: its model, the parameters of a rank, the activations.
function setting(spec, forms) {
  const model = forms.models.find(({ name }) => name === spec.model);
  const s = { ...spec, data: spec.zero ? spec.data : 1 };
  const values = { ...model.sizes, b: s.batch, s: s.seq };
  const rank = model.ranks[s.tensor];
  const units = [
    [rank.block, model.layers],
    [rank.rest, 1],
  ];
  const kernel = s.attention === "flash" && s.precision === "fp32" && model.grouped ? "math" : s.attention;
  const whole = model.lists[kernel];
  const kept =
    s.checkpoint === "full" ? [forms.input] : whole.filter((item) => s.checkpoint !== "selective" || !item[5]);
  return {
    s,
    model,
    values,
    rank,
    units,
    whole,
    kept,
    forms,
    listed: (items) => operators(items, values, s, forms.widths),
  };
}

// -> [{ name, terms, nbytes }] of every moment
export function training(spec, forms) {
  const c = setting(spec, forms);
  const numbers = numbersOf(c);
  return Object.entries(forms.moments)
    .filter(([, { zero }]) => spec.zero >= zero)
    .map(([name, row]) => {
      const terms = [held, activations, cast, gathered, flickering]
        .flatMap((part) => part({ ...c, numbers }, row))
        .filter(({ nbytes }) => nbytes);
      return { name, terms, nbytes: total(terms) };
    });
}

// Weights and the cache of all requests; a window keeps no more than its width, latent attention one short vector a token.
export function serving({ model: name, batch, seq, width, cache }, forms) {
  const model = forms.models.find((one) => one.name === name);
  const kept = Math.min(seq, model.window ?? seq);
  const tokens = kept < seq ? "w" : "s";
  const each = batch * kept * cache;
  const { k, d, a } = model.sizes;
  const source = model.latent ? "deepseek-v2" : k < a ? "gqa" : "paged-attention";
  const parts = model.latent
    ? [
        ["the latent vector of a token", "c", model.latent[0]],
        ["the rotary key, shared by heads", "e", model.latent[1]],
      ]
    : [
        ["keys", "k d", k * d],
        ["values", "k d", k * d],
      ];
  const listed = parts.map(([text, sides, n]) =>
    operator("attention", text, `b ${tokens} ${sides}`, cache, 1, each * n, source),
  );
  const formula = model.latent ? `L b ${tokens} (c + e) ${cache}` : `2 L b ${tokens} k d ${cache}`;
  const terms = [
    term("weights", "parameter", `${width} P`, [
      operator("all layers", "the weights", "P", width, 1, width * model.nparams),
    ]),
    term("KV cache", "cache", formula, listed, model.layers, source),
  ];
  return [{ name: "serving", terms, nbytes: total(terms) }];
}

export const computed = (spec, forms) => (spec.mode === "serve" ? serving : training)(spec, forms);

// The highest moment; the first of them if there are several.
export const highest = (moments) => moments.reduce((a, b) => (b.nbytes > a.nbytes ? b : a));
