// The player's fixed furniture: stage and transport bar, sentence, buttons. Built once; the player fills it.
import { h } from "../../shared/page/dom.mjs";
import { tool, tools } from "../../shared/page/tools.mjs";

export function frame(does, { live, bar, figures, details }) {
  const controls = h("div");
  const lead = h("strong");
  const text = h("span");
  const end = h("em");
  const said = h("p", { class: "bim-sr", "aria-live": "polite" });
  const notice = h("p", { class: "bim-notice", role: "status" });
  const stage = h("div", {
    class: "bim-stage",
    tabindex: "0",
    role: "group",
    "aria-label": "Step player: Space plays, arrow keys step, Home and End jump",
  });
  const enlarge = document.fullscreenEnabled && tool("Enlarge", does.enlarge);
  const enlarged = () => {
    if (enlarge) enlarge.textContent = document.fullscreenElement === root ? "Close" : "Enlarge";
  };
  const under = tools({ live }, does.address, does.python, notice);
  if (enlarge) notice.before(enlarge);
  const root = h(
    "div",
    { class: "bim-player bim-widget" },
    h(
      "div",
      { class: "bim-body" },
      controls,
      h("div", { class: "bim-deck" }, stage, bar, h("p", { class: "bim-sentence" }, lead, " ", text, " ", end)),
      figures,
      under,
      details,
      said,
    ),
  );
  root.addEventListener("fullscreenchange", enlarged);
  return { root, controls, stage, lead, text, end, live: said, notice };
}
