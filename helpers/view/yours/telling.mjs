// The verdict in words: what it is, the sentence, what stands beside it, and the causes in order.
import { h } from "../shared/page/dom.mjs";
import { nbytesText } from "../shared/page/numbers.mjs";
import { copy, tool } from "../shared/page/tools.mjs";
import { chart } from "./chart.mjs";

const ALONE = "No published run has its collective and number of ranks, joined as these are.";
const UNTOLD = "no machine"; // the name of that remark
const WAITS = "Nothing stands there yet.";
const READS = "Reading ...";
const KINDS = " known here: expected "; // behind it a refusal lists all that is read

const upperFirst = (text) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;

// A remark that asks for the machine leads to where it is chosen.
function chooser({ machine }) {
  return tool("Choose the machine", () => {
    machine.focus({ preventScroll: true });
    machine.scrollIntoView({ block: "center" });
  });
}

function causeOf({ name, why, chapter, command, accuses, repair }, { known, parts }) {
  const { notice } = parts;
  const say = tool("Copy", () => copy(command, "Command", notice));
  return h(
    "li",
    { class: accuses ? "bim-accuses" : "bim-remark" },
    h("strong", {}, name),
    h("span", { class: "bim-kind" }, accuses ? "" : "a remark"),
    h(
      "p",
      {},
      `${upperFirst(why)}. `,
      h("a", { href: `${chapter}.html` }, `Chapter: ${known.chapters[chapter]}`),
      repair && [" ", h("a", { href: `repair.html#${repair}` }, "How to repair it")],
    ),
    name === UNTOLD && chooser(parts),
    h("div", { class: "bim-command" }, h("code", { tabindex: "0" }, command), say),
  );
}

// The reader's seconds over those of a published run: at a typical size, and at the largest that both have.
function nearText({ title, typical, ratios }) {
  const [nbytes, ratio] = ratios.at(-1);
  return `${title}: ${typical.toFixed(2)} at a typical size, ${ratio.toFixed(2)} at ${nbytesText(nbytes)}`;
}

// All that a run measured, or several tables; published runs beside a curve, where it bends, and why nothing was predicted.
function besideLines({ kind, lines, nearest, bends, unpredicted, points }) {
  const measured = ["run", "nccl-tests", "words"].includes(kind) ? lines : [];
  if (!points.length) return measured;
  const near = nearest.filter(({ typical }) => typical).map(nearText);
  return [
    ...measured,
    near.length ? "How many times as long as a published run yours took:" : ALONE,
    ...near,
    ...bends.map(({ nbytes, why }) => `It bends at ${nbytesText(nbytes)}: ${why}.`),
    unpredicted && `No prediction: ${unpredicted}.`,
  ].filter(Boolean);
}

// Another machine moves nothing that stands below, nor does waiting: the room of the verdict does not shrink then.
export function keepRoom({ parts: { room } }, keeps) {
  room.style.minHeight = keeps ? `${room.getBoundingClientRect().height}px` : "";
}

function sentenceOf({ found, isAwaited }) {
  if (isAwaited) return READS;
  if (!found) return WAITS;
  const [why, kinds] = (found.refused ?? "").split(KINDS);
  return why ? `Not read: ${why}${kinds ? " known here." : ""}` : found.sentence;
}

export function tell(widget) {
  const { parts, found, s, examples } = widget;
  const example = examples.find(({ name }) => name === s.example);
  parts.tries.show(s.example);
  parts.chosen.textContent = example ? "" : (found?.files ?? []).join(", ");
  parts.about.textContent = example ? `This example is ${example.about}.` : "This is your own.";
  parts.what.textContent = [found?.what, found?.machine].filter(Boolean).join(", on ");
  parts.sentence.textContent = sentenceOf(widget);
  parts.spoken.textContent = parts.sentence.textContent;
  const [, kinds] = found?.refused?.split(KINDS) ?? [];
  parts.kinds.textContent = kinds ? `What is read: ${kinds}.` : "";
  parts.stage.replaceChildren(...[found && chart(found, parts.stage.clientWidth)].filter(Boolean));
  parts.beside.replaceChildren(...(found ? besideLines(found) : []).map((words) => h("p", {}, words)));
  const causes = (found?.causes ?? []).map((one) => causeOf(one, widget));
  const first = s.door ? 1 : causes.length;
  parts.causes.replaceChildren(...causes.slice(0, first));
  parts.others.replaceChildren(...causes.slice(first));
  parts.notice.replaceChildren();
  parts.proof.refresh();
}
