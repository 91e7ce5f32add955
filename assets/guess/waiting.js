// What must not tell before the reader has guessed, where he guesses: solutions, hints, what cells printed. Who reads has all open.
(() => {
  const WAITING = "details.sd-dropdown:not(.bim-surprise), details.bim-waits";
  const blocks = [...document.querySelectorAll(".bim-predict")];

  // What a lab's cell printed (website/guess/waiting.py) waits for the blocks whose answers it tells, a solution or a hint for the block
  // before it in its own section, if there is one.
  function awaited({ dataset }, before) {
    const names = JSON.parse(dataset.waits ?? "[]").map((name) => `guess-${name}`);
    return dataset.waits ? blocks.filter(({ id }) => names.includes(id)) : before;
  }

  const [withheld, wanted] = [new Map(), new Map()];
  let before = [];
  for (const node of document.querySelectorAll(`.bim-predict, ${WAITING}`)) {
    if (node.matches(".bim-predict")) before = [node];
    else
      withheld.set(
        node,
        awaited(
          node,
          before.filter((block) => block.closest("section") === node.closest("section")),
        ),
      );
  }
  const guesses = () => document.documentElement.dataset.reading === "guess";
  const open = (awaiting) => (guesses() ? awaiting.find((block) => !("told" in block.dataset)) : undefined);

  // Under what was asked for too early: a link to the question, which may stand far above.
  function refer(node, block) {
    const { question } = JSON.parse(block.dataset.guess);
    const note = wanted.get(node) ?? document.createElement("p");
    const link = document.createElement("a");
    wanted.set(node, note);
    note.className = "bim-wanted";
    note.setAttribute("role", "status");
    node.after(note);
    link.href = `#${block.id}`;
    link.append(question);
    note.replaceChildren("Guess first, or show it without guessing: ", link);
  }

  for (const [node, awaiting] of withheld)
    node.querySelector("summary").addEventListener("click", (event) => {
      const block = open(awaiting);
      if (node.open || !block) return;
      event.preventDefault();
      refer(node, block);
    });

  // What tells shows as soon as nothing in it is left to guess, and so does what the reader has asked for.
  function unfold() {
    for (const [node, awaiting] of withheld) {
      const block = open(awaiting);
      if (block && wanted.has(node)) refer(node, block);
      if (block && node.dataset.waits) node.open = false;
      if (block || !(wanted.has(node) || node.dataset.waits)) continue;
      node.open = true;
      wanted.get(node)?.remove();
      wanted.delete(node);
    }
  }
  document.addEventListener("bim-told", unfold);
  document.addEventListener("bim-reading", unfold);
  unfold();
})();
