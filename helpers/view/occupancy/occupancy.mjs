// The widget `occupancy`: sliders for what a block takes, the SM that it fills, and what runs out first. Ties state and drawing together.
import { h } from "../shared/page/dom.mjs";
import { copy } from "../shared/page/link.mjs";
import { nbytesText } from "../shared/page/numbers.mjs";
import { row, table, twin } from "../shared/page/tables.mjs";
import { occupancySentence, occupied, REGISTERS, THREADS } from "./count.mjs";
import { decode, encode, fits, python } from "./link.mjs";
import { curvePicture, curveRows, limitsTable, smPicture } from "./sm.mjs";

const KIB = 1024;

function indexOf(el) {
  const mounts = [...document.querySelectorAll('.bim-mount[data-kind="occupancy"]')];
  return Math.max(0, mounts.indexOf(el.closest(".bim-mount")));
}

// A slider with its value beside it: { node, show(value, most) }
function slider(label, { min, step, words }, onInput) {
  const value = h("output", {});
  const range = h("input", { type: "range", min, step, "aria-label": label, input: () => onInput(Number(range.value)) });
  const show = (now, most) => {
    range.max = most;
    range.value = now;
    value.textContent = words(now);
    range.setAttribute("aria-valuetext", words(now));
  };
  return { node: h("label", { class: "bim-slider" }, h("span", {}, label), range, value), show };
}

function furniture(gpus, does, live) {
  const gpu = h("select", { "aria-label": "Accelerator", change: () => does.take({ gpu: gpu.value }) }, gpus.map(({ name }) => h("option", { value: name }, name)));
  const sliders = {
    threads: slider("Threads per block", { min: 32, step: 32, words: (n) => `${n} threads` }, (threads) => does.take({ threads })),
    registers: slider("Registers per thread", { min: 16, step: 1, words: (n) => `${n} registers` }, (registers) => does.take({ registers })),
    shared: slider("Shared memory per block", { min: 0, step: KIB, words: nbytesText }, (shared) => does.take({ shared })),
  };
  const [stage, curve, limits] = [h("div"), h("div"), h("div")];
  const sentence = h("p", { class: "bim-sentence" });
  const said = h("p", { class: "bim-sr", "aria-live": "polite" });
  const notice = h("p", { class: "bim-notice", role: "status" });
  const tool = (label, click) => h("button", { type: "button", class: "bim-tool", click }, label);
  const tools = h("div", { class: "bim-tools" }, !live && tool("Copy link", does.copyLink), tool("Copy as Python", does.copyPython), notice);
  const proof = twin("Occupancy for every size of a block", does.rows);
  const root = h("div", { class: "bim-occupancy bim-widget" }, h("div", { class: "bim-body" },
    h("p", { class: "bim-controls" }, "One SM of ", gpu, ", its warp slots filled by blocks"),
    h("div", { class: "bim-sliders" }, Object.values(sliders).map(({ node }) => node)), stage, sentence, limits, curve, tools, proof.node, said));
  return { root, gpu, sliders, stage, curve, limits, sentence, said, notice, proof };
}

function render({ model, el }) {
  const index = indexOf(el);
  const gpus = model.get("gpus");
  const live = Boolean(model.get("live"));
  let s = model.get("spec");
  let timer = 0;
  const gpuOf = () => gpus.find(({ name }) => name === s.gpu);

  const does = {
    take(change) {
      const next = { ...s, ...change };
      const { most } = gpus.find(({ name }) => name === next.gpu);
      s = { ...next, shared: Math.min(next.shared, most) };
      draw();
      clearTimeout(timer);
      timer = setTimeout(() => { parts.said.textContent = parts.sentence.textContent; }, 400); // a slider on its way is not read out
      if (live) {
        model.set("spec", s);
        model.save_changes();
      }
    },
    rows: () => table(`${s.gpu}, ${s.registers} registers, ${nbytesText(s.shared)}`, ["Block", "Resident", "Occupancy"], curveRows(gpuOf(), s).map((words) => row("td", words))),
    copyLink() {
      history.replaceState(null, "", encode(s, index));
      copy(location.href, "Link", parts.notice);
    },
    copyPython: () => copy(python(s), "Python", parts.notice),
  };
  const parts = furniture(gpus, does, live);

  function draw() {
    const gpu = gpuOf();
    const got = occupied(gpu, s);
    parts.gpu.value = s.gpu;
    parts.sliders.threads.show(s.threads, THREADS);
    parts.sliders.registers.show(s.registers, REGISTERS);
    parts.sliders.shared.show(s.shared, gpu.most);
    parts.stage.replaceChildren(smPicture(gpu, got));
    parts.curve.replaceChildren(curvePicture(gpu, s));
    parts.limits.replaceChildren(limitsTable(got));
    parts.sentence.textContent = `${occupancySentence(gpu, s)}.`;
    parts.notice.replaceChildren();
    parts.proof.refresh();
  }

  function onHash() {
    const linked = live ? null : decode(location.hash, index);
    if (!linked) return;
    if (fits(gpus, linked)) {
      s = linked;
      draw();
    } else parts.notice.textContent = "This link asks for something that cannot be drawn.";
  }
  const onSpec = () => { if (JSON.stringify(model.get("spec")) !== JSON.stringify(s)) { s = model.get("spec"); draw(); } };

  el.append(parts.root);
  draw();
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
