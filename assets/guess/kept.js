// On the page of guesses: how far each chapter is read, and all that this browser keeps for the book as one file, saved and opened again.
(() => {
  const { kept, keep, made, day, merged, mark, PROGRESS, BANDS } = BytesInMotion.back;
  const [MARK, GUESSES] = ["bytes-in-motion", "bim-guesses"];
  const LARGEST = 4e6; // bytes; browsers keep no more for a site
  const [bar, told] = [document.querySelector(".bim-kept"), document.querySelector(".bim-kept-said")];

  function fill() {
    const [progress, guesses] = [kept(PROGRESS, {}), Object.keys(kept(GUESSES, {}))];
    for (const row of document.querySelectorAll(".bim-progress tbody tr")) {
      const [read, lab, guessed] = row.querySelectorAll("td");
      const show = (cell, name) => {
        const at = progress[name]?.at ?? 0;
        cell.textContent = at ? `${Math.round(100 * at)} %` : "–";
        cell.style.setProperty("--at", `${100 * at}%`);
      };
      show(read, row.dataset.page);
      show(lab, row.dataset.lab);
      const many = guesses.filter((key) => key.startsWith(`${guessed.dataset.stem}:`)).length;
      guessed.textContent = guessed.textContent.replace(/^\d* ?of/, `${many} of`);
    }
  }

  function everything() {
    const names = Object.keys(localStorage).filter((name) => /^bim-[a-z-]+$/.test(name));
    return Object.fromEntries(names.map((name) => [name, kept(name, localStorage.getItem(name))]));
  }

  function save() {
    const text = JSON.stringify({ [MARK]: 1, saved: new Date().toISOString(), kept: everything() }, null, 1);
    const href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    made("a", { href, download: `bytes-in-motion-${new Date().toISOString().slice(0, 10)}.json` }).click();
    setTimeout(() => URL.revokeObjectURL(href), 1000);
  }

  const isText = (value) => typeof value === "string" && value.length < 2000;
  const isPage = (value) => isText(value) && /^(book|notebooks)\/[a-z0-9-]+$/.test(value);
  const isDate = (value) => isText(value) && /^\d{4}-\d\d-\d\dT/.test(value) && !Number.isNaN(Date.parse(value));
  const all = (list, test) => Array.isArray(list) && list.length > 0 && list.every(test);
  const isPlain = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const above = (value) => Number.isFinite(value) && value > 0;
  const isBand = (value) => Number.isInteger(value) && value >= 0 && value < BANDS;

  const isGuess = ([key, { said, truth, unit, units, text, question, page, chapter, at, when } = {}]) =>
    /^[a-z0-9-]+:[a-z0-9-]+$/.test(key) &&
    all(said, above) &&
    all(truth, above) &&
    said.length === truth.length &&
    isPlain(units) &&
    Object.values(units).every(above) &&
    unit in units &&
    [text, question, chapter, at].every(isText) &&
    isPage(page) &&
    (when === undefined || isDate(when));
  const isRead = ([key, { seen, bands, id, section } = {}]) =>
    isPage(key) && isDate(seen) && Array.isArray(bands) && bands.every(isBand) && [id, section].every(isText);

  // Raises an Error that says what the file is not.
  function checked(text) {
    let file;
    try {
      file = JSON.parse(text);
    } catch {
      throw new Error("it is no JSON.");
    }
    if (file?.[MARK] !== 1 || !isPlain(file.kept) || !isDate(file.saved))
      throw new Error(
        `no page of this book saved it, or it was changed: it has no "${MARK}": 1, no date or nothing kept.`,
      );
    for (const [name, value] of Object.entries(file.kept)) {
      const test = { [GUESSES]: isGuess, [PROGRESS]: isRead }[name];
      const wrong =
        test && isPlain(value) ? Object.entries(value).find((entry) => !isPlain(entry[1]) || !test(entry)) : null;
      if (wrong) throw new Error(`its ${name} has "${wrong[0].slice(0, 60)}", which is none of this book's.`);
      const plain = isText(value) || all(value, isText);
      if (!/^bim-[a-z-]+$/.test(name) || !(test ? isPlain(value) : plain))
        throw new Error(`it has "${name.slice(0, 60)}", which this book does not keep so.`);
    }
    return file;
  }

  const many = (of = {}) => Object.keys(of).length;
  const newer = (own, other) => (own && (own.when ?? "") >= (other.when ?? "") ? own : other);

  // Guess by guess and page by page the newer holds; what was chosen here stays. -> is all of it kept?
  function merge(file) {
    const one = (name, value) => {
      const own = kept(name, localStorage.getItem(name));
      const join = { [GUESSES]: newer, [PROGRESS]: merged }[name];
      if (!join) return own ?? value;
      const added = Object.entries(value).map(([key, other]) => [key, join(own?.[key], other)]);
      return { ...own, ...Object.fromEntries(added) };
    };
    return Object.entries(file.kept).every(([name, value]) => keep(name, one(name, value)));
  }

  async function open({ target }) {
    const [file] = target.files;
    try {
      if (file.size > LARGEST)
        throw new Error(`it has ${Math.round(file.size / 1e6)} MB, and no such file has more than 4.`);
      const found = checked(await file.text());
      const had = `guesses: ${many(found.kept[GUESSES])}, pages: ${many(found.kept[PROGRESS])}`;
      told.textContent = merge(found)
        ? `Opened, saved on ${day(found.saved)}; ${had}. Newer ones that were here stay.`
        : "A part of it was taken: this browser keeps no more for these pages.";
      changed();
    } catch (error) {
      told.textContent = `Nothing of "${file.name}" was taken: ${error.message}`;
    }
    target.value = ""; // the same file may be opened again
  }

  function forget(button) {
    if (button.dataset.sure === undefined) {
      button.dataset.sure = "";
      button.textContent = "Forget it for good: press again";
      return;
    }
    BytesInMotion.guesses.forget();
    for (const name of Object.keys(everything())) localStorage.removeItem(name);
    delete button.dataset.sure;
    button.textContent = "Forget all";
    told.textContent = "Forgotten.";
    changed();
  }

  function changed() {
    fill();
    mark();
    document.dispatchEvent(new CustomEvent("bim-kept"));
  }

  const [saving, forgetting] = bar.querySelectorAll("button");
  saving.addEventListener("click", save);
  forgetting.addEventListener("click", () => forget(forgetting));
  bar.querySelector("input").addEventListener("change", open);
  if (BytesInMotion.guesses.keeps()) bar.hidden = false;
  else told.textContent = "This browser keeps nothing for these pages, so there is nothing to save.";
  fill();
})();
