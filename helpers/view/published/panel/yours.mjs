// Room for a reader's own table: pasted, chosen or dropped. It is read here, in the browser, and sent nowhere.
import { h, set } from "../../shared/page/dom.mjs";
import { tool } from "../../shared/page/link.mjs";
import { ownCurves } from "../data/own.mjs";

const HINT =
  "What nccl-tests printed, or gpu-bandwidth.json of make gpu-check, or the JSON of a sweep. It stays in your browser.";

const MOST = 4 * 2 ** 20; // bytes; a table has thousands

const long = (name) => `${name} is longer than 4 MiB, which no table is: give the table alone.`;

async function taken(file, take, refuse) {
  if (!file) return;
  if (file.size > MOST) {
    refuse(long(file.name));
    return;
  }
  const words = await file.text().catch(() => null);
  if (words === null) refuse(`${file.name} cannot be read: is it a folder?`);
  else take(words);
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
  const read = (one) => taken(one, take, refuse);
  const file = h("input", {
    type: "file",
    "aria-label": "A file with your own table",
    change: () => read(file.files[0]),
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
