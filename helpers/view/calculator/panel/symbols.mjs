// What every letter of a formula stands for, with its value here.
import { table } from "../../shared/page/tools.mjs";
import { count } from "../states.mjs";

const SIZES = [
  ["h", "width of the residual stream"],
  ["a", "heads"],
  ["k", "heads with keys and values of their own"],
  ["d", "numbers of a head"],
  ["f", "width inside the MLP"],
  ["V", "vocabulary"],
  ["E", "experts"],
  ["x", "experts that a token visits"],
];
const RATIOS = [
  ["g", "k / a", ({ k, a }) => k / a],
  ["r", "f / h", ({ f, h }) => f / h],
];

function rows(spec, forms) {
  const { sizes, layers, nparams, ranks, window: w, latent } = forms.models.find(({ name }) => name === spec.model);
  const rank = ranks[spec.tensor];
  const here =
    spec.mode === "train" && rank
      ? count([
          [rank.block, layers],
          [rank.rest, 1],
        ])
      : nparams;
  return [
    ["P", spec.tensor > 1 ? "parameters of this rank's part" : "parameters", here],
    ["L", "layers", layers],
    ["b", spec.mode === "serve" ? "requests" : "sequences", spec.batch],
    ["s", "tokens of each", spec.seq],
    ...SIZES.map(([letter, text]) => [letter, text, sizes[letter]]),
    ...RATIOS.map(([letter, text, of]) => [letter, text, of(sizes)]),
    ["t", "ranks that split a block", spec.tensor ?? 1],
    ["w", "tokens that a window looks back", w],
    ["c", "numbers of a latent vector", latent?.[0]],
    ["e", "numbers of the shared rotary key", latent?.[1]],
  ].filter(([, , value]) => value);
}

export const symbols = (spec, forms) =>
  table(`Sizes of ${spec.model}, and of this choice`, ["Letter", "Stands for", "Here"], rows(spec, forms));
