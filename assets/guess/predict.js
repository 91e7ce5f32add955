// The blocks of a page in which the reader guesses, and the words that they veil; waiting.js has what else waits for them.
(() => {
  const { parse, spell, sentence, right, off, keep, all, entry } = BytesInMotion.guesses;
  const LOST = " This browser keeps nothing for this page, so the guess is gone when you leave it.";
  const UNMOVED = "Move the mark first.";
  const AXES = { left: 64, top: 10, wide: 400, high: 190 }; // website/guess/plot.py draws them

  const tell = (block, said) => {
    block.querySelector(".bim-predict-gap").textContent = said;
  };

  // In the unit in which it is spelled a guess is as round as the hand is exact: 1 MiB, and not 0.98.
  function rounded(value, { unit, units }, digits) {
    const [, name] = /^\S+ (.*)$/.exec(spell(value, unit, units));
    const size = units[name] / units[unit];
    return Number((value / size).toPrecision(digits)) * size;
  }

  // A slider under a bar, or under a mark on a logarithmic axis (website/guess/axis.py), which follows it.
  function slid(block, knows, { value, at, digits }) {
    const [input, output] = [block.querySelector("input"), block.querySelector("output")];
    const [first, last] = [Number(input.min), Number(input.max)];
    const read = () => rounded(value(input.valueAsNumber), knows, digits);
    const write = () => {
      output.textContent = spell(read(), knows.unit, knows.units);
      input.setAttribute("aria-valuetext", output.textContent);
      const along = (input.valueAsNumber - first) / (last - first);
      input.parentNode.querySelector("i").style.setProperty("--to", `${100 * along}%`);
    };
    input.addEventListener("input", write);
    return {
      read: () => [read()],
      show: ([said]) => {
        input.value = at(said);
        write();
      },
    };
  }

  // Each kind of control: how its guess is read, and how a guess is put back into it.
  const kinds = {
    number(block, knows) {
      const input = block.querySelector("input");
      return {
        read: () => [parse(input.value, knows.unit, knows.units)],
        show: ([value]) => {
          input.value = Number(value.toPrecision(4));
        },
      };
    },
    order: (block, knows) => slid(block, knows, { value: (at) => 10 ** at, at: Math.log10, digits: 2 }),
    bar: (block, knows) => slid(block, knows, { value: (at) => at, at: (value) => value, digits: 3 }),
    curve(block, knows) {
      const [plot, inputs] = [block.querySelector(".bim-predict-plot"), [...block.querySelectorAll("input")]];
      const { low, high } = knows;
      const mine = block.querySelector(".bim-predict-mine");
      const value = (input) => low * (high / low) ** input.valueAsNumber;
      const x = (i) => AXES.left + (AXES.wide * (i + 0.5)) / inputs.length;
      const y = (input) => AXES.top + AXES.high * (1 - input.valueAsNumber);
      const own = new Set(); // points that were moved; the others follow
      function write() {
        mine.setAttribute("points", inputs.map((input, i) => `${x(i)},${y(input)}`).join(" "));
        for (const input of inputs) input.setAttribute("aria-valuetext", spell(value(input), knows.unit, knows.units));
      }
      function follow(moved) {
        own.add(inputs.indexOf(moved));
        for (const [i, input] of inputs.entries()) if (!own.has(i)) input.value = moved.value;
        write();
      }
      // The hand draws over all columns that it passes, also those that a quick one skips; a single point follows the arrow keys.
      let last = null;
      function draw({ type, clientX, clientY, buttons }) {
        if (!buttons || inputs[0].disabled) return;
        const box = plot.querySelector("svg").getBoundingClientRect();
        const scale = plot.querySelector("svg").viewBox.baseVal.width / box.width;
        const column = Math.floor((((clientX - box.left) * scale - AXES.left) / AXES.wide) * inputs.length);
        const at = Math.min(Math.max(column, 0), inputs.length - 1);
        const height = 1 - ((clientY - box.top) * scale - AXES.top) / AXES.high;
        const from = type === "pointermove" && last ? last : { at, height };
        const step = (height - from.height) / (at - from.at || 1);
        for (let i = Math.min(from.at, at); i <= Math.max(from.at, at); i += 1) {
          inputs[i].value = i === at ? height : from.height + step * (i - from.at);
          own.add(i);
        }
        last = { at, height };
        inputs[at].dispatchEvent(new Event("input", { bubbles: true }));
      }
      plot.addEventListener("pointerdown", draw);
      plot.addEventListener("pointermove", draw);
      plot.addEventListener("input", ({ target }) => follow(target));
      return {
        read: () => inputs.map(value),
        show(said) {
          inputs.forEach((input, i) => {
            input.value = Math.log(said[i] / low) / Math.log(high / low);
          });
          write();
        },
      };
    },
  };

  // A slider that nobody moved says nothing, and is no guess; a key or a press that leaves it where it is says that it is meant.
  function untilMoved(block, form) {
    const [sliders, button] = [[...block.querySelectorAll("input[type=range]")], block.querySelector("form button")];
    if (!sliders.length || "told" in block.dataset) return;
    block.dataset.unmoved = "";
    for (const slider of sliders) slider.setAttribute("aria-valuetext", "not set");
    button.setAttribute("aria-disabled", "true");
    button.title = UNMOVED;
    const mean = ({ type, key, target }) => {
      if (target.type !== "range" || !("unmoved" in block.dataset)) return;
      if (type === "keydown" && !/^(Arrow|Page|Home$|End$)/.test(key)) return;
      delete block.dataset.unmoved;
      button.removeAttribute("aria-disabled");
      button.removeAttribute("title");
      tell(block, "");
      if (type !== "input") target.dispatchEvent(new Event("input", { bubbles: true }));
    };
    for (const type of ["input", "click", "keydown"]) form.addEventListener(type, mean);
  }

  // What the text goes on to say is veiled (website/guess/veil.py), for those who listen as for those who look.
  const veiled = ({ id }) => document.querySelectorAll(`.${id.replace(/^guess-/, "bim-veiled-")}`);

  function veil(block) {
    const [isTold, guesses] = ["told" in block.dataset, document.documentElement.dataset.reading === "guess"];
    for (const words of veiled(block)) {
      words.classList.toggle("bim-veiled", !isTold);
      words.toggleAttribute("inert", guesses && !isTold);
    }
  }

  function close(block) {
    block.dataset.told = "";
    block.dispatchEvent(new CustomEvent("bim-told", { bubbles: true }));
    veil(block);
    for (const control of block.querySelectorAll("input, button")) control.disabled = true;
  }

  // What stands below stays where it is.
  function steady(block) {
    block.style.minHeight = `${block.getBoundingClientRect().height}px`;
  }

  function reveal(block, knows, guess, note) {
    close(block);
    block.dataset.guessed = "";
    const told = { ...knows, said: guess.said };
    tell(block, sentence(told) + note);
    block.querySelector(".bim-predict-gap").classList.toggle("bim-right-text", right(off(told)));
  }

  function enliven(block) {
    const knows = JSON.parse(block.dataset.guess);
    const control = kinds[knows.kind](block, knows);
    veil(block);
    const before = all()[knows.key];
    if (before?.said.length === knows.truth.length) {
      const { units, unit } = knows; // a lab may ask in another unit of the kind
      const said = before.said.map((value) => (value * (units[before.unit] ?? units[unit])) / units[unit]);
      control.show(said);
      reveal(block, knows, { said }, "");
    }
    const form = block.querySelector("form");
    untilMoved(block, form);
    form.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.target.type !== "range") return;
      event.preventDefault(); // not every browser sends a form from a slider: so all do it here, once
      form.requestSubmit();
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const said = control.read();
      if ("unmoved" in block.dataset || !said.every((value) => value > 0 && Number.isFinite(value))) {
        const written = `Write a number above zero, in ${Object.keys(knows.units).join(", ")}.`;
        tell(block, knows.kind === "number" ? written : UNMOVED);
        return;
      }
      const guess = entry(knows, said);
      steady(block);
      reveal(block, knows, guess, keep(knows.key, guess) ? "" : LOST);
      const gap = block.querySelector(".bim-predict-gap");
      gap.tabIndex = -1;
      gap.focus({ preventScroll: true }); // the button that had it is gone
    });
    // Who looks without guessing has seen it: what he says now would be no guess.
    block.querySelector(".bim-predict-show").addEventListener("click", () => {
      const answer = block.querySelector(".bim-predict-answer");
      steady(block);
      close(block);
      answer.tabIndex = -1;
      answer.focus({ preventScroll: true });
    });
  }
  const blocks = document.querySelectorAll(".bim-predict");
  blocks.forEach(enliven);
  document.addEventListener("bim-reading", () => blocks.forEach(veil));
})();
