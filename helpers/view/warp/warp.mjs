// The widget `warp`: one warp at a branch, at a load, at the banks; sliders change it, the counts follow. Ties state and drawing together.
import { h } from "../shared/page/dom.mjs";
import { copy } from "../shared/page/link.mjs";
import { row, table, twin } from "../shared/page/tables.mjs";
import { BRANCHES, counts, issued, touched, banked, warpSentence } from "./lanes.mjs";
import { asPython, drawable, fromLink, MOST, ELEMENTS, VIEWS, warpLink } from "./link.mjs";
import { warpPicture } from "./picture.mjs";

const NAMES = { branch: "at a branch", memory: "loading from memory", banks: "loading from shared memory" };
const LABELS = { steps: "Steps issued", useful: "Useful lane-steps", passed: "Lane-steps passed", sectors: "Sectors of 32 B", lines: "Lines of 128 B",
  asked: "Bytes asked for", moved: "Bytes moved", ways: "Passes", banks: "Banks used", words: "Words" };

function indexOf(el) {
  const mounts = [...document.querySelectorAll('.bim-mount[data-kind="warp"]')];
  return Math.max(0, mounts.indexOf(el.closest(".bim-mount")));
}

function slider(label, min, step, most, now, unit, onInput) {
  const value = h("output", {}, `${now}${unit}`);
  const range = h("input", { type: "range", min, step, max: most, value: now, "aria-label": label, "aria-valuetext": `${now}${unit}`,
    input: () => {
      value.textContent = `${range.value}${unit}`;
      range.setAttribute("aria-valuetext", value.textContent);
      onInput(Number(range.value));
    } });
  return h("label", { class: "bim-slider" }, h("span", {}, label), range, value);
}

const pick = (label, values, chosen, onChange, text = String) => {
  const node = h("select", { "aria-label": label, change: () => onChange(values[node.selectedIndex]) },
    values.map((value) => h("option", { value, selected: value === chosen }, text(value))));
  return node;
};

// What can be changed in a view; built anew when the view changes, so that focus stays in a slider that moves.
function knobs(s, take) {
  const change = (name) => (value) => take({ [name]: value });
  const stride = () => slider("Stride", 0, 1, MOST.stride, s.stride, "", change("stride"));
  if (s.view === "branch") {
    return [h("p", { class: "bim-controls" }, "Lanes part by ", pick("Branch", BRANCHES, s.branch, change("branch"))),
      slider("Steps in even arms", 1, 1, MOST.taken, s.taken, "", change("taken")), slider("Steps in odd arms", 1, 1, MOST.other, s.other, "", change("other"))];
  }
  if (s.view === "banks") return [stride()];
  return [h("p", { class: "bim-controls" }, "Elements of ", pick("Bytes of an element", ELEMENTS, s.nbytes, change("nbytes")), " bytes"),
    stride(), slider("Offset", 0, 4, MOST.offset, s.offset, " B", change("offset"))];
}

// The picture in words: what every row of it shows.
function rowsOf(s) {
  if (s.view === "branch") return [["Step", "Arm", "Lanes"], issued(s).map(({ branch, lanes }, i) => [`${i + 1}`, `${branch}`, lanes.join(", ")])];
  if (s.view === "banks") return [["Bank", "Words"], banked(s).map((words, bank) => [`${bank}`, words.join(", ") || "none"])];
  return [["Line", "Sectors that move"], touched(s).lines.map((line) => [`${line}`, touched(s).sectors.filter((at) => Math.floor(at / 4) === line).map((at) => at % 4).join(", ")])];
}

function render({ model, el }) {
  const index = indexOf(el);
  const live = Boolean(model.get("live"));
  let s = model.get("spec");
  let timer = 0;
  const [stage, controls, readout] = [h("div"), h("div", { class: "bim-sliders" }), h("dl", { class: "bim-readout" })];
  const sentence = h("p", { class: "bim-sentence" });
  const said = h("p", { class: "bim-sr", "aria-live": "polite" });
  const notice = h("p", { class: "bim-notice", role: "status" });
  const view = pick("What the warp does", VIEWS, s.view, (name) => take({ view: name }), (name) => NAMES[name]);
  const proof = twin("The picture as a table", () => {
    const [head, rows] = rowsOf(s);
    return table(warpSentence(s), head, rows.map((words) => row("td", words)));
  });
  const tool = (label, click) => h("button", { type: "button", class: "bim-tool", click }, label);
  const copyLink = () => {
    history.replaceState(null, "", warpLink(s, index));
    copy(location.href, "Link", notice);
  };
  const tools = h("div", { class: "bim-tools" }, !live && tool("Copy link", copyLink), tool("Copy as Python", () => copy(asPython(s), "Python", notice)), notice);
  el.append(h("div", { class: "bim-warp bim-widget" }, h("div", { class: "bim-body" },
    h("p", { class: "bim-controls" }, "One warp, ", view), controls, stage, sentence, readout, tools, proof.node, said)));

  function draw(anew) {
    view.selectedIndex = VIEWS.indexOf(s.view);
    if (anew) controls.replaceChildren(...knobs(s, take));
    stage.replaceChildren(warpPicture(s));
    sentence.textContent = `${warpSentence(s)}.`;
    readout.replaceChildren(...Object.entries(counts(s)).map(([name, value]) => h("div", {}, h("dt", {}, LABELS[name]), h("dd", {}, h("strong", {}, value.toLocaleString("en-US"))))));
    notice.replaceChildren();
    proof.refresh();
  }

  function take(change) {
    const anew = "view" in change;
    s = { ...s, ...change };
    draw(anew);
    clearTimeout(timer);
    timer = setTimeout(() => { said.textContent = sentence.textContent; }, 400); // a slider on its way is not read out
    if (live) {
      model.set("spec", s);
      model.save_changes();
    }
  }

  function onHash() {
    const linked = live ? null : fromLink(location.hash, index);
    if (linked && drawable(linked)) {
      s = linked;
      draw(true);
    } else if (linked) notice.textContent = "This link asks for something that cannot be drawn.";
  }
  const onSpec = () => { if (JSON.stringify(model.get("spec")) !== JSON.stringify(s)) { s = model.get("spec"); draw(true); } };

  draw(true);
  window.addEventListener("hashchange", onHash);
  model.on("change:spec", onSpec);
  onHash();
  return () => {
    clearTimeout(timer);
    window.removeEventListener("hashchange", onHash);
    model.off("change:spec", onSpec);
  };
}

export default { render };
