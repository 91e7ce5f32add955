// The widget `watch`: a call on ranks while it runs. It lives in a kernel only; what it shows is the trait `call`.
import { h, set } from "../shared/page/dom.mjs";
import { badge, canvas } from "../shared/page/shapes.mjs";
import { heading, steps } from "./telling.mjs";

const OVER = ["done", "failed", "stopped"];

// One rank: badge, state, and a bar once it counts. Made once, filled again and again: what is read or focused stays in place.
function row(rank, nranks) {
  const [state, count, bar] = [h("span", { class: "bim-doing" }), h("span", { class: "bim-count" }), h("progress", { class: `bim-bar bim-r${rank % 8}`, hidden: true })];
  const node = h("tr", {}, h("th", { scope: "row" }, canvas("bim-tag-rank", 26, 26, `rank ${rank}`, badge(rank, nranks, 13, 13, 26))), h("td", {}, h("div", { class: "bim-step" }, state, h("div", { class: "bim-far" }, bar, count))));
  const show = ({ state: text, done, total }) => {
    state.textContent = text;
    count.textContent = steps(done, total);
    bar.hidden = !total;
    if (total) set(bar, { max: total, value: Math.min(done, total), "aria-label": `Rank ${rank}` });
  };
  return { node, show };
}

function render({ model, el }) {
  let rows = [];
  let told = "";
  const title = h("p", { class: "bim-title" });
  const note = h("span", { class: "bim-count" });
  const stop = h("button", { type: "button", class: "bim-stop", click: () => {
    model.set("stopping", true);
    model.save_changes();
    show();
  } }, "Stop");
  const body = h("tbody");
  const end = h("pre", { class: "bim-outcome", hidden: true });
  const said = h("p", { class: "bim-sr", "aria-live": "polite" });
  const table = h("table", {}, h("caption", { class: "bim-sr" }, "What every rank is doing"),
    h("thead", { class: "bim-sr" }, h("tr", {}, ["Rank", "State and steps"].map((name) => h("th", { scope: "col" }, name)))), body);
  const root = h("div", { class: "bim-watch bim-widget" }, h("div", { class: "bim-body" },
    h("div", { class: "bim-heading" }, title, stop), h("div", { class: "bim-scroll", tabindex: "0", role: "region", "aria-label": "What every rank is doing" }, table), end, note, said));

  function show() {
    const call = model.get("call");
    const over = OVER.includes(call.phase);
    if (rows.length !== call.ranks.length) {
      rows = call.ranks.map(({ rank }) => row(rank, call.ranks.length));
      body.replaceChildren(...rows.map(({ node }) => node));
    }
    call.ranks.forEach((rank, i) => rows[i].show(rank));
    const words = heading(call);
    title.textContent = words.title;
    note.textContent = words.note;
    end.textContent = call.outcome;
    end.hidden = !over;
    end.classList.toggle("bim-wrong-text", call.phase === "failed");
    stop.disabled = over || model.get("stopping");
    stop.textContent = model.get("stopping") && !over ? "Stopping" : "Stop";
    if (told !== call.phase) said.textContent = told === "" && !over ? "" : over ? `${words.phase}. ${call.outcome}` : words.phase;
    told = call.phase;
  }

  el.append(root);
  model.on("change:call", show);
  model.on("change:stopping", show);
  show();
  return () => {
    model.off("change:call", show);
    model.off("change:stopping", show);
  };
}

export default { render };
