// One's own step: a snapshot of PyTorch, dropped or chosen, and the lines that make one.
import { h } from "../../shared/page/dom.mjs";
import { copy, tool } from "../../shared/page/tools.mjs";

const LINES = `import torch

torch.cuda.memory._record_memory_history()
...  # your step
torch.cuda.memory._dump_snapshot("mine.pickle")`;

export function invitation(does, notice) {
  const file = h("input", {
    type: "file",
    class: "bim-sr",
    tabindex: "-1",
    multiple: true,
    "aria-label": "Memory snapshots of PyTorch",
    accept: ".pickle,.pkl",
    change: () => {
      if (file.files.length) does.open([...file.files]);
      file.value = "";
    },
  });
  const how = h(
    "details",
    {},
    h("summary", {}, "How is one made?"),
    h("pre", {}, LINES),
    tool("Copy these lines", () => copy(LINES, "Python", notice)),
  );
  const choose = (isFolder) => () => {
    file.webkitdirectory = isFolder;
    file.click();
  };
  const refused = h("p", { class: "bim-mt-refused", role: "status" });
  const node = h(
    "div",
    { class: "bim-mt-own" },
    h(
      "p",
      {},
      "Your own step? Drop or ",
      tool("open PyTorch snapshots", choose(false)),
      h("span", { class: "bim-mt-wide" }, ", or ", tool("a folder", choose(true)), "; they stay in this browser"),
      ".",
    ),
    how,
    refused,
    file,
  );
  return { own: node, refused };
}
