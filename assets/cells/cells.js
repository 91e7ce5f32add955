// The blocks of a page that run where they stand: one interpreter, one set of names, runs in the order in which they are asked for.
BytesInMotion.cells = (() => {
  const GONE = "All names are gone; the next run begins with the blocks that it needs.";
  const { python } = BytesInMotion;
  const cells = new Map(); // number -> cell
  const coming = BytesInMotion.defined("loading").loading(python, () => run(last.block)); // what a page says while Python comes
  let runs = 0; // of blocks, on this page
  let era = 0; // a Stop ends what was asked for before it
  let line = Promise.resolve(); // runs follow each other
  let current = null; // the cell whose run is under way
  let last = null; // the one before that, or this

  for (const block of document.querySelectorAll("[data-cell]")) {
    const pre = block.querySelector("pre");
    const printed = pre.textContent.replace(/\n$/, "");
    const [button, edits] = block.querySelectorAll(".bim-cell-row button");
    const needs = (block.dataset.needs ?? "").split(" ").filter(Boolean).map(Number);
    const number = Number(block.dataset.cell);
    cells.set(number, { number, block, pre, printed, spans: [...pre.childNodes], code: printed, needs, button, edits });
  }

  const of = (block) => cells.get(Number(block.dataset.cell));
  const before = (cell) => cell.needs.map((number) => cells.get(number)).filter(Boolean);
  // Has it run in this interpreter, as it stands now, and after everything that it needs? `needs` holds also what these need.
  const stands = (cell) => cell.ran === cell.code;
  const fresh = (cell) => stands(cell) && before(cell).every((one) => stands(one) && one.at < cell.at);
  const changed = (cell) => [cell, ...before(cell)].some(({ code, printed }) => code !== printed);

  function make(tag, properties, ...children) {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  }

  // What the row below a block tells, once there is something to tell.
  function tell(cell, ...words) {
    if (!cell.told) {
      cell.told = make("span", { className: "bim-cell-told", role: "status" });
      cell.reset = make("button", { type: "button", textContent: "Reset page", onclick: () => reset(cell) });
      cell.button.parentElement.append(cell.reset, cell.told);
      cell.block.dataset.live = "";
    }
    cell.told.replaceChildren(...words);
  }

  function link({ number, block }) {
    block.id ||= `block-${number}`;
    return make("a", { href: `#${block.id}`, textContent: number });
  }

  // "blocks 2, 4 and 5", each a link.
  function named(some) {
    const between = (i) => (i === 0 ? "" : i < some.length - 1 ? ", " : " and ");
    return [some.length > 1 ? "blocks " : "block ", ...some.flatMap((one, i) => [between(i), link(one)])];
  }

  function wait(cell, waits) {
    const words = waits ? "Stop" : "Run";
    cell.waits = waits;
    cell.button.textContent = words;
    cell.button.setAttribute("aria-label", `${words} block ${cell.number}`);
    cell.block.toggleAttribute("data-runs", waits);
  }

  // Names live as long as their interpreter, which a widget of the page may have stopped, too.
  python.watch(({ phase }) => {
    if (!["ready", "busy"].includes(phase)) for (const cell of cells.values()) cell.ran = undefined;
    if (phase === "busy" && current) tell(current, "Running");
  });

  async function execute(cell, isShown) {
    const to = BytesInMotion.cellOutput(cell);
    cell.at = ++runs;
    cell.isShown = isShown;
    const { error, stopped } = await python.run(cell.code, `block ${cell.number}`, isShown ? to : {});
    if (error && !stopped) to.text(error, "traceback");
    if (isShown || error) to.ended(stopped);
    if (!error) cell.ran = cell.code;
    return error;
  }

  // The cell, after the blocks that it needs and that did not run yet; what these give stands there already, unless the reader changed them.
  async function go(cell, asked) {
    if (asked !== era) return;
    current = last = cell;
    cell.told.before(coming.node);
    const first = before(cell).filter((one) => !fresh(one));
    for (const one of [...first, cell]) {
      const error = await execute(one, one === cell || changed(one) || one.isShown);
      if (asked !== era) return;
      if (error && one === cell) return tell(cell, "Ended with an error");
      if (error) return tell(cell, "Not run: ", ...named([one]), ", which it needs, ended with an error");
    }
    tell(cell, "Done", ...(first.length ? ["; ran ", ...named(first), " first"] : []));
  }

  function run(block) {
    const cell = of(block);
    if (cell.waits) return;
    const asked = era;
    tell(cell, current ? "Waits for the block that runs" : "");
    wait(cell, true);
    line = line
      .then(() => go(cell, asked))
      .finally(() => {
        if (asked !== era) return;
        current = null;
        wait(cell, false);
      });
  }

  // What runs and what waits. -> whether there was any
  function stop() {
    const told = [...cells.values()].filter(({ waits }) => waits);
    if (!told.length) return false;
    era += 1;
    current = null;
    coming.node.remove();
    python.stop();
    for (const cell of told) {
      wait(cell, false);
      tell(cell, `Stopped. ${GONE}`);
    }
    return true;
  }

  const press = (block) => (of(block).waits ? stop() : run(block));

  // The text that is edited lies over the one that was printed, which gives the place its size, and which paper shows.
  function open(cell) {
    const field = make("textarea", { className: "bim-cell-field", spellcheck: false, wrap: "off", value: cell.code });
    for (const name of ["autocapitalize", "autocomplete", "autocorrect"]) field.setAttribute(name, "off");
    const keys = "Ctrl+Enter runs it, Ctrl+Shift+Escape stops it, Tab leaves it.";
    field.setAttribute("aria-label", `Code of block ${cell.number}. ${keys}`);
    field.addEventListener("input", () => {
      cell.code = field.value;
      if (cell.code === cell.printed) cell.pre.replaceChildren(...cell.spans);
      else cell.pre.textContent = `${cell.code}\n`;
    });
    cell.field = field;
    cell.pre.after(field);
    cell.block.dataset.edited = "";
    cell.edits.hidden = true;
    tell(cell, make("span", { className: "bim-cell-keys", textContent: keys }));
  }

  // An exercise marks with an arrow where the reader's own lines begin.
  function edit(block) {
    const cell = of(block);
    if (!cell.field) open(cell);
    const mark = Math.max(0, cell.code.search(/ *# *<-/));
    cell.field.setSelectionRange(mark, mark);
    cell.field.focus();
    cell.field.scrollLeft = 0; // it had followed the caret to the end
  }

  document.addEventListener("keydown", (event) => {
    const block = event.target.closest?.("[data-cell]");
    const [isEnter, isEscape] = [event.key === "Enter", event.key === "Escape" && event.shiftKey];
    if (!block || !(event.ctrlKey || event.metaKey) || !(isEnter || isEscape)) return;
    event.preventDefault();
    if (isEnter) run(block);
    else stop();
  });

  function restore(cell) {
    cell.field?.remove();
    cell.pre.replaceChildren(...cell.spans);
    Object.assign(cell, { field: null, code: cell.printed, isShown: false });
    delete cell.block.dataset.edited;
    cell.edits.hidden = false;
    BytesInMotion.cellOutput(cell).restore();
    cell.told?.parentElement.removeChild(cell.reset);
    cell.told?.remove();
    cell.told = null;
    delete cell.block.dataset.live;
  }

  // The page as it is printed, and no name left.
  function reset(pressed) {
    if (!stop()) python.forget();
    cells.forEach(restore);
    tell(pressed, "As printed again; all names are forgotten");
    pressed.reset.remove();
    pressed.button.focus();
  }

  return { press, edit };
})();
