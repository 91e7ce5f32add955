// What must not tell before the reader has guessed: solutions, hints, what cells printed, charts.
(() => {
  const WAITING = "details.sd-dropdown, details.bim-waits, .bim-covered";
  const blocks = [...document.querySelectorAll(".bim-predict")];

  // What a lab's cell printed (website/guess/waiting.py) and what a chart shows (cover.py) wait for the blocks whose answers they tell,
  // a solution or a hint for the block before it.
  function awaited({ dataset }, before) {
    const names = JSON.parse(dataset.waits ?? "[]").map((name) => `guess-${name}`);
    return dataset.waits ? blocks.filter(({ id }) => names.includes(id)) : before;
  }

  const [withheld, wanted] = [new Map(), new Map()];
  let before = [];
  for (const node of document.querySelectorAll(`.bim-predict, ${WAITING}`)) {
    if (node.matches(".bim-predict")) before = [node];
    else withheld.set(node, awaited(node, before));
  }
  const open = (awaiting) => awaiting.find((block) => !("told" in block.dataset));

  // Under what was asked for too early, and over a chart: a link to the question, which may stand far above.
  function refer(node, block) {
    const { question } = JSON.parse(block.dataset.guess);
    const note = wanted.get(node) ?? document.createElement("p");
    const link = document.createElement("a");
    wanted.set(node, note);
    note.className = "bim-wanted";
    if (node.matches("details")) {
      note.setAttribute("role", "status");
      node.after(note);
    } else node.append(note);
    link.href = `#${block.id}`;
    link.append(question);
    note.replaceChildren("Guess first, or show it without guessing: ", link);
  }

  for (const [node, awaiting] of withheld) {
    if (node.matches(".bim-covered")) refer(node, awaiting[0]);
    else
      node.querySelector("summary").addEventListener("click", (event) => {
        const block = open(awaiting);
        if (node.open || !block) return;
        event.preventDefault();
        refer(node, block);
      });
  }

  // What tells shows as soon as nothing in it is left to guess, and so does what the reader has asked for.
  function unfold() {
    for (const [node, awaiting] of withheld) {
      const block = open(awaiting);
      if (block && wanted.has(node)) refer(node, block);
      if (block || !(wanted.has(node) || node.dataset.waits)) continue;
      if (node.matches("details")) node.open = true;
      node.classList.remove("bim-covered");
      wanted.get(node)?.remove();
      wanted.delete(node);
    }
  }
  document.addEventListener("bim-told", unfold);
  unfold();
})();
