// Files of a reader's own: opened, set beside each other, and handed on as a page.
import { h } from "../shared/page/dom.mjs";
import { download, pageOf } from "./panel/handed.mjs";
import { take } from "./show.mjs";
import { labelOf, printOf, tracesIn, worthOpening } from "./trace/opening.mjs";

// Keeps the traces of each file under a name of its own, and tells of those that are none. -> the names, and the state that was saved
async function read({ ui, parts }, files) {
  const [names, refused, chosen] = [[], [], worthOpening(files)];
  if (!chosen.length) refused.push("No .pickle is in this folder.");
  let asked = {};
  for (const file of chosen) {
    try {
      const { found, state } = await tracesIn(file);
      asked = state ?? asked;
      for (const one of found) {
        const name = labelOf(one.file, ui.files, chosen);
        ui.files.set(name, one.traces);
        names.push(name);
      }
    } catch ({ message }) {
      refused.push(`${file.name} cannot be opened: ${message}`);
    }
  }
  parts.refused.replaceChildren(...refused.map((words) => h("span", {}, words)));
  if (refused.length) parts.refused.scrollIntoView({ block: "nearest" });
  return { names, asked };
}

const EXPECTED =
  "This link is about somebody's own snapshot, which no link carries. Open that file here: it stands as it did for who made the link.";

// A reader's own file is on show, beside another or alone.
export function own(widget, name, other, saved = {}) {
  const { ui } = widget;
  const isWanted = ui.wanted?.own === printOf(ui.files.get(name));
  const asked = isWanted ? ui.wanted : saved;
  if (isWanted) ui.wanted = null;
  const rival = other && other !== name ? { name: other, traces: ui.files.get(other) } : null;
  const fresh = { rank: 0, part: 0, view: null, asked, limit: ui.given };
  Object.assign(ui, { traces: ui.files.get(name), opened: name, rival, ...fresh });
  take(widget);
}

// What a cell reads: a file of the reader's own by its name, or a recorded trace.
export function ofFile({ opened, unclassed, traces, rank, show }) {
  if (!opened || !unclassed) return { show: opened ? null : show, rank };
  return { file: opened.replace(/ \(\d+\)$/, ""), gpu: traces[rank][0] };
}

// stateNow(): what a link would say.
export function filing(widget, stateNow) {
  return {
    // Two files stand beside each other, as does a second one beside that which is open.
    async open(files) {
      const { ui, parts } = widget;
      const { names, asked } = await read(widget, files);
      if (!names.length) return;
      const isWhole = names.length > 1 || asked.at !== undefined; // else it stands beside what is open
      const [name, other] = isWhole ? names : [ui.opened, names[0]].filter(Boolean);
      parts.notice.textContent = "";
      own(widget, name, other, asked);
      parts.said.textContent = ui.held.join(" ");
    },
    // A link is about a file that is not in it.
    expect(wanted) {
      const { ui, parts } = widget;
      ui.wanted = wanted;
      if (ui.opened) own(widget, ui.opened, ui.rival?.name);
      else parts.refused.textContent = EXPECTED;
    },
    save(isNameless) {
      const [name] = isNameless ? ["memory"] : widget.ui.opened.split("/").slice(-1);
      download(pageOf(widget, stateNow(), isNameless), `${name}.html`);
      widget.parts.notice.textContent =
        "Saved: a page that any browser shows, and that is opened here again by dropping it.";
    },
    own: (name) => own(widget, name, widget.ui.rival?.name),
  };
}
