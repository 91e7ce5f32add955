// The controls as a sentence: "all_reduce by sum on 4 ranks, 4 numbers each"; and the least that must move, in figures.
import { h } from "../../shared/page/dom.mjs";
import { nbytesText, times } from "../../shared/page/numbers.mjs";
import { lengths, numberText, OPS, peer, share } from "../numbers.mjs";

function pick(label, values, chosen, onChange, text = String) {
  const all = values.includes(chosen) ? values : [...values, chosen];
  const node = h(
    "select",
    { "aria-label": label, change: () => onChange(all[node.selectedIndex]) },
    all.map((value) => h("option", { value, selected: value === chosen }, text(value))),
  );
  return node;
}

const spelled = (name) => name.replace("send_recv", "send, recv");

export function choices(s, primitives, onChange) {
  const { p, nranks, root, op, length } = s;
  const change = (name) => (value) => onChange({ [name]: value });
  const towards = p.gives === "root" ? "from" : "to";
  const many = lengths(p, nranks);
  return h(
    "p",
    { class: "bim-controls" },
    pick(
      "Primitive",
      primitives.map(({ name }) => name),
      p.name,
      change("name"),
      spelled,
    ),
    p.reduces && [" by ", pick("Operation", OPS, op, change("op"))],
    p.rooted && [
      ` ${towards} rank `,
      pick(
        "Root",
        times(nranks, (r) => r),
        root,
        change("root"),
      ),
    ],
    p.name === "send_recv" && ` to rank ${peer(root, nranks)}`,
    " on ",
    pick(
      "Number of ranks",
      times(15, (i) => i + 2),
      nranks,
      change("nranks"),
    ),
    " ranks",
    many.length > 1 && [
      ", ",
      pick("Numbers per rank", many, length, change("length")),
      length > 1 ? " numbers each" : " number each",
    ],
  );
}

// A formula of the data as it is read: "2N(P-1)/P" -> "2N(P − 1)/P"
const formula = (key) => key.replace("P-1", "P − 1");

function figure({ who, sends, receives }, s, nbytes) {
  const verb =
    sends === receives && sends !== "0"
      ? "sends and receives"
      : sends === "0" && receives !== "0"
        ? "receives"
        : "sends";
  const key = verb === "receives" ? receives : sends;
  const name = `${who[0].toUpperCase()}${who.slice(1)} ${verb} at least`;
  const value = share(key, s.nranks) * nbytes;
  const exact = Number.isInteger(value) ? nbytesText(value) : `${numberText(value)} B`;
  const even = s.p.even ? ", shared evenly" : "";
  return h(
    "div",
    {},
    h("dt", {}, name),
    h(
      "dd",
      {},
      h("strong", {}, exact),
      h("span", {}, key === "0" ? "no data, only word of it" : `${formula(key)}${even}`),
    ),
  );
}

// N is nccl-tests' size: the larger of one rank's input and output, in float32.
export function volumes(s, out) {
  const nbytes = 4 * Math.max(s.length, out);
  const size = h(
    "div",
    {},
    h("dt", {}, "N, a rank's larger buffer"),
    h("dd", {}, h("strong", {}, nbytesText(nbytes)), h("span", {}, `${nbytes / 4} float32`)),
  );
  return h(
    "dl",
    { class: "bim-readout bim-volumes" },
    s.p.name !== "barrier" && size,
    s.p.volumes.map((volume) => figure(volume, s, nbytes)),
  );
}
