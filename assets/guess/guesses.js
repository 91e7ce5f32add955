// Guesses, made before the answer shows: a number, an order or a curve. They stay in this browser and are sent nowhere (website/guess/predict.py).
BytesInMotion.guesses = (() => {
  const KEPT = "bim-guesses";
  const NUMBER = /^\s*[~≈]?\s*(\d+\^\d+|\d[\d.,]*(?:e[+-]?\d+)?|[.,]\d+)\s*(.*?)\s*$/i;
  const RIGHT = 0.2; // doublings: 15 % off is as good as right
  const NEAR = 1; // one doubling: as near as a guess needs to be
  const SPOKEN = { us: "µs", min: "minutes", minute: "minutes", h: "hours", byte: "bytes", second: "s", seconds: "s" };
  const here = {}; // guesses of this page, also where the browser keeps none

  // "1,024" is a thousand and more, "9,6" is 9.6, "2^10" a thousand and more again.
  function plain(digits) {
    if (digits.includes("^")) return Number(digits.split("^")[0]) ** Number(digits.split("^")[1]);
    return Number(/^\d{1,3}(,\d{3})+(\.\d+)?$/.test(digits) ? digits.replaceAll(",", "") : digits.replace(",", "."));
  }

  // "40", "4e1", "40 ms", "0.04 s" -> the number in `unit`; NaN where it is none, or in a unit of another kind.
  function parse(text, unit, units) {
    const [, digits, said] = NUMBER.exec(text) ?? [];
    if (digits === undefined) return NaN;
    if (!said || said === unit) return plain(digits);
    const alike = Object.keys(units).filter((one) => one.toLowerCase() === said.toLowerCase());
    const size = units[said] ?? units[SPOKEN[said.toLowerCase()]] ?? (alike.length === 1 ? units[alike[0]] : NaN);
    return (plain(digits) * size) / units[unit];
  }

  // 0.024 ms is told as "24 µs".
  function spell(value, unit, units) {
    const sizes = Object.entries(units).sort((a, b) => a[1] - b[1]);
    const whole = value * units[unit];
    const [name, size] = sizes.findLast(([, one]) => whole >= one * 0.9995) ?? sizes[0];
    return `${Number((whole / size).toPrecision(3))} ${name}`;
  }

  // A guess in the unit in which the answer is told, so that the two can be compared; in its own where the answer names none.
  function mine(value, unit, units, text) {
    const told = Object.keys(units).find((name) => text.endsWith(` ${name}`));
    const inIt = told && (value * units[unit]) / units[told];
    return inIt >= 0.01 && inIt < 1e5
      ? `${Number(inIt.toPrecision(inIt < 1000 ? 3 : 4))} ${told}`
      : spell(value, unit, units);
  }

  const right = (off) => Math.abs(off) < RIGHT;
  const doublings = (said, truth) => Math.log2(said / truth);

  // How far off, as the factor that it is: 2.06 doublings -> "4.2 times too high".
  function gap(off) {
    if (right(off)) return "as good as right";
    const factor = 2 ** Math.abs(off);
    return `${Number(factor.toPrecision(2)).toLocaleString("en")} times too ${off > 0 ? "high" : "low"}`;
  }

  // The doublings that a guess is off on the whole: of a curve the mean, wherever it errs.
  function off({ said, truth }) {
    const each = said.map((value, i) => doublings(value, truth[i]));
    return each.length === 1 ? each[0] : each.reduce((sum, one) => sum + Math.abs(one), 0) / each.length;
  }

  function sentence({ kind, said, truth, unit, units, text, labels }) {
    const far = off({ said, truth });
    const own = () => (kind === "bar" || kind === "order" ? spell : mine)(said[0], unit, units, text); // as on its scale
    if (said.length === 1) return `You said ${own()}, it is ${text}: ${gap(far)}.`;
    const each = said.map((value, i) => doublings(value, truth[i]));
    const worst = each.reduce((top, one, i) => (Math.abs(one) > Math.abs(each[top]) ? i : top), 0);
    const mean = gap(far).replace(/(.*) times too .*/, "off by a factor of $1");
    return `On average your curve is ${mean}; farthest at ${labels[worst]}: ${gap(each[worst])}.`;
  }

  function stored() {
    try {
      return JSON.parse(localStorage.getItem(KEPT)) ?? {};
    } catch {
      return {}; // forbidden, as it may be for pages from a folder, or written by somebody else
    }
  }

  // -> is it kept? Until the page is left it is known in any case.
  function keep(key, guess) {
    here[key] = guess;
    const text = JSON.stringify({ ...stored(), [key]: guess });
    try {
      localStorage.setItem(KEPT, text);
      return localStorage.getItem(KEPT) === text;
    } catch {
      return false;
    }
  }

  function forget() {
    for (const key of Object.keys(here)) delete here[key];
    try {
      localStorage.removeItem(KEPT);
    } catch {
      /* then nothing was kept either */
    }
  }

  function keeps() {
    try {
      localStorage.setItem(`${KEPT}-tried`, "");
      localStorage.removeItem(`${KEPT}-tried`);
      return true;
    } catch {
      return false;
    }
  }

  const all = () => ({ ...stored(), ...here });

  // What is kept of a guess: also what the page of all guesses must know of its question.
  function entry({ key, question, kind, unit, units, truth, text }, said) {
    const page = decodeURI(location.pathname).match(/([^/]+\/[^/]+)\.html$/)?.[1] ?? "";
    const chapter = document.querySelector("h1")?.firstChild.textContent ?? "";
    const when = new Date().toISOString();
    return { kind, said, unit, units, truth, text, question, page, chapter, at: `guess-${key.split(":")[1]}`, when };
  }

  return { NEAR, parse, spell, mine, doublings, right, gap, off, sentence, stored, keep, keeps, forget, all, entry };
})();
