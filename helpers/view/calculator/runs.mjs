// The recorded predictions: the run of a choice, or the choice nearest to it that has one.
const ASKED = ["model", "batch", "seq", "checkpoint"];
const alike = (spec, { predicted }) =>
  spec.mode === "train" &&
  !spec.zero &&
  spec.tensor === 1 &&
  ["precision", "optimizer", "attention"].every((key) => spec[key] === predicted[key]);

const dict = (row, { predicted }) => Object.fromEntries(predicted.columns.map((name, i) => [name, row[i]]));

// -> { peak, phase, module, op, by_class, ... } or undefined
export function runOf(spec, forms) {
  const row = alike(spec, forms) && forms.predicted.rows.find((one) => ASKED.every((key, i) => one[i] === spec[key]));
  return row ? dict(row, forms) : undefined;
}

const far = (a, b) => Math.abs(Math.log2(a / b));

// The change of a spec that leads to a recorded run of the same model; null where there is none.
export function nearest(spec, forms) {
  const own = forms.predicted.rows.filter(([model]) => model === spec.model);
  if (!own.length) return null;
  const cost = ([, batch, seq, checkpoint]) =>
    far(batch, spec.batch) + far(seq, spec.seq) + (checkpoint === spec.checkpoint ? 0 : 10);
  const [, batch, seq, checkpoint] = own.reduce((a, b) => (cost(b) < cost(a) ? b : a));
  const { precision, optimizer, attention } = forms.predicted;
  return {
    mode: "train",
    batch,
    seq,
    checkpoint,
    precision,
    optimizer,
    attention,
    zero: 0,
    tensor: 1,
    sequence: false,
  };
}
