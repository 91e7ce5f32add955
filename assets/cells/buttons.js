// Every block that runs in the page gets its buttons; what they do is loaded when one is pressed for the first time.
(() => {
  const PARTS = ["python.js", "cells/loading.js", "cells/output.js", "cells/cells.js"];
  let loaded = null;

  async function all() {
    for (const part of PARTS) await BytesInMotion.load(part);
  }

  // A script that did not come is asked for anew by the next press.
  function again(error) {
    loaded = null;
    throw error;
  }

  function button(words, deed, block) {
    const made = document.createElement("button");
    Object.assign(made, { type: "button", textContent: words });
    made.setAttribute("aria-label", `${words} block ${block.dataset.cell}`);
    made.addEventListener("click", async () => {
      await (loaded ??= all().catch(again));
      BytesInMotion.cells[deed](block);
    });
    return made;
  }

  for (const block of document.querySelectorAll("[data-cell]")) {
    const row = document.createElement("div");
    row.className = "bim-cell-row";
    row.append(button("Run", "press", block), button("Edit", "edit", block));
    block.append(row);
  }
})();
