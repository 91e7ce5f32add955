// The widget `watch`: a call on ranks while it runs. It lives in a kernel only; what it shows is the trait `call`.
import { badge, canvas, h, set } from "../shared/page/dom.mjs";
import { heading, steps } from "./telling.mjs";

const OVER = ["done", "failed", "stopped"];

// One rank: badge, state, and a bar once it counts. Made once, filled again and again: what is read or focused stays in place.
function row(rank, nranks) {
  const [state, count, bar] = [
    h("span", { class: "bim-doing" }),
    h("span", { class: "bim-count" }),
    h("progress", { class: `bim-bar bim-r${rank % 8}`, hidden: true }),
  ];
  const node = h(
    "tr",
    {},
    h("th", { scope: "row" }, canvas("bim-tag-rank", 26, 26, `rank ${rank}`, badge(rank, nranks, 13, 13, 26))),
    h("td", {}, h("div", { class: "bim-step" }, state, h("div", { class: "bim-far" }, bar, count))),
  );
  const show = ({ state: text, done, total }) => {
    state.textContent = text;
    count.textContent = steps(done, total);
    bar.hidden = !total;
    if (total) set(bar, { max: total, value: Math.min(done, total), "aria-label": `Rank ${rank}` });
  };
  return { node, show };
}

function show(widget) {
  const { model, body, title, note, end, stop, said } = widget;
  const call = model.get("call");
  const over = OVER.includes(call.phase);
  if (widget.rows.length !== call.ranks.length) {
    widget.rows = call.ranks.map(({ rank }) => row(rank, call.ranks.length));
    body.replaceChildren(...widget.rows.map(({ node }) => node));
  }
  call.ranks.forEach((rank, i) => widget.rows[i].show(rank));
  const words = heading(call);
  title.textContent = words.title;
  note.textContent = words.note;
  end.textContent = call.outcome;
  end.hidden = !over;
  end.classList.toggle("bim-wrong-text", call.phase === "failed");
  stop.disabled = over || model.get("stopping");
  stop.textContent = model.get("stopping") && !over ? "Stopping" : "Stop";
  if (widget.told !== call.phase)
    said.textContent = widget.told === "" && !over ? "" : over ? `${words.phase}. ${call.outcome}` : words.phase;
  widget.told = call.phase;
}

// What stands still; what changes is filled by show().
function furniture(stopped) {
  const head = ["Rank", "State and steps"].map((name) => h("th", { scope: "col" }, name));
  const parts = {
    title: h("p", { class: "bim-title" }),
    note: h("span", { class: "bim-count" }),
    stop: h("button", { type: "button", class: "bim-stop", click: stopped }, "Stop"),
    body: h("tbody"),
    end: h("pre", { class: "bim-outcome", hidden: true }),
    said: h("p", { class: "bim-sr", "aria-live": "polite" }),
  };
  const caption = "What every rank is doing";
  const table = h(
    "table",
    {},
    h("caption", { class: "bim-sr" }, caption),
    h("thead", { class: "bim-sr" }, h("tr", {}, head)),
    parts.body,
  );
  const scroll = h("div", { class: "bim-scroll", tabindex: "0", role: "region", "aria-label": caption }, table);
  const top = h("div", { class: "bim-heading" }, parts.title, parts.stop);
  const body = h("div", { class: "bim-body" }, top, scroll, parts.end, parts.note, parts.said);
  return { ...parts, root: h("div", { class: "bim-watch bim-widget" }, body) };
}

function render({ model, el }) {
  const widget = { model, rows: [], told: "" };
  const fill = () => show(widget);
  const stopped = () => {
    model.set("stopping", true);
    model.save_changes();
    fill();
  };
  Object.assign(widget, furniture(stopped));
  el.append(widget.root);
  for (const name of ["change:call", "change:stopping"]) model.on(name, fill);
  fill();
  return () => {
    for (const name of ["change:call", "change:stopping"]) model.off(name, fill);
  };
}

export default { render };
