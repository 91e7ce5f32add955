// Room for a reader's own table: pasted, chosen or dropped. Python reads it here, in the browser, and it is sent nowhere.
import { h, set } from "../../shared/page/dom.mjs";
import { asker } from "../../shared/page/python.mjs";
import { tool } from "../../shared/page/tools.mjs";

const HINT =
  "What nccl-tests printed, the file run-….json.gz that make gpu-check wrote, or the JSON of a sweep. It stays in your browser.";

const CURVES = "helpers.yours.own:curves";
const MOST = 4 * 2 ** 20; // bytes; a table has thousands

const long = (name) => `${name} is longer than 4 MiB, which no table is: give the table alone.`;

// A file's bytes; an Error says why there are none.
async function bytesOf(file) {
  if (file.size > MOST) throw new Error(long(file.name));
  const bytes = await file.arrayBuffer().catch(() => {
    throw new Error(`${file.name} cannot be read: is it a folder?`);
  });
  return new Uint8Array(bytes);
}

function drops(root, read) {
  const over = (event) => event.dataTransfer?.types.includes("Files") && event.preventDefault();
  const drop = (event) => {
    const [file] = event.dataTransfer?.files ?? [];
    if (!file) return;
    event.preventDefault();
    read(file);
  };
  set(root, { dragover: over, drop });
}

// widget.does: own(curves), own(null). -> { node, drops(root), show(curves, picked) }
export function yours(widget) {
  const { does } = widget;
  const coming = h("div");
  const said = h("p", { class: "bim-told", role: "status" });
  const text = h("textarea", {
    rows: 4,
    "aria-label": "Your own table",
    placeholder: "paste a table here",
    spellcheck: "false",
  });
  const pick = h("select", { "aria-label": "Which of your curves", change: () => does.pick(+pick.value) });
  const away = tool("Take mine away", () => does.own(null));
  const which = h("p", { hidden: true }, pick, " ", away);
  const refuse = (why) => {
    said.textContent = why;
  };
  let last = null; // what is being read; an answer on anything before it comes too late
  const ask = asker(widget, coming, () => take(...last));
  const take = async (given, name = "This text") => {
    const own = [given, name];
    last = own;
    refuse("Reading ...");
    const { value, error } = given.length > MOST ? { error: long(name) } : await ask(CURVES, given, name);
    if (own !== last) return;
    if (value?.curves) does.own(value.curves);
    else refuse(value?.refused ?? error);
  };
  const read = (one) => {
    node.open = true; // what is said of a file that was dropped stands in here
    bytesOf(one).then(
      (bytes) => take(bytes, one.name),
      (error) => refuse(error.message),
    );
  };
  const file = h("input", {
    type: "file",
    "aria-label": "A file with your own table",
    change: () => file.files.length && read(file.files[0]),
  });
  const show = (curves, picked) => {
    which.hidden = !curves;
    pick.replaceChildren(
      ...(curves ?? []).map(({ name }, i) => h("option", { value: i, selected: i === picked }, name)),
    );
    said.textContent = curves ? `${curves[picked].name} is curve Y.` : "";
  };
  const draw = tool("Draw it", () => take(text.value));
  const node = h(
    "details",
    { class: "bim-details bim-pub-yours" },
    h("summary", {}, "Your own numbers beside them"),
    h("p", { class: "bim-told" }, HINT),
    text,
    h("p", { class: "bim-tools" }, draw, file),
    which,
    said,
    coming,
  );
  return { node, drops: (root) => drops(root, read), show };
}
