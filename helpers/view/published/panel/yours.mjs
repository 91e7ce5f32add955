// Room for a reader's own table: pasted, chosen or dropped. It is read here, in the browser, and sent nowhere.
import { h, set } from "../../shared/page/dom.mjs";
import { tool } from "../../shared/page/link.mjs";
import { unfolded } from "../../shared/read/unfolded.mjs";
import { ownCurves } from "../data/own.mjs";

const HINT =
  "What nccl-tests printed, the file run-….json.gz that make gpu-check wrote, or the JSON of a sweep. It stays in your browser.";

const MOST = 4 * 2 ** 20; // bytes; a table has thousands

const long = (name) => `${name} is longer than 4 MiB, which no table is: give the table alone.`;

// A file's text, unpacked where it is packed; an Error says why there is none.
async function textOf(file) {
  if (file.size > MOST) throw new Error(long(file.name));
  const bytes = await file.arrayBuffer().catch(() => {
    throw new Error(`${file.name} cannot be read: is it a folder?`);
  });
  const found = await unfolded(new Uint8Array(bytes), MOST).catch(({ message }) => {
    throw new Error(`${file.name} is ${message}`);
  });
  if (found.length > MOST) throw new Error(long(file.name));
  return new TextDecoder().decode(found);
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

// does: own(curves), own(null). -> { node, drops(root), show(curves, picked) }
export function yours(does) {
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
  const take = (words) => {
    if (words.length > MOST) {
      refuse(long("This text"));
      return;
    }
    try {
      does.own(ownCurves(words));
    } catch (error) {
      if (error.name !== "Error" && !(error instanceof Error)) throw error;
      refuse(error.message);
    }
  };
  const read = (one) => {
    node.open = true; // what is said of a file that was dropped stands in here
    textOf(one).then(take, (error) => refuse(error.message));
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
  );
  return { node, drops: (root) => drops(root, read), show };
}
