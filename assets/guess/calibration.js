// The page of all guesses that this browser keeps: how many are near, on which side the others lie, one plot, a table for each chapter.
(() => {
  const { NEAR, off, gap, spell, mine, doublings, all, keeps } = BytesInMotion.guesses;
  const { made } = BytesInMotion.back;
  const box = document.querySelector(".bim-guessed");
  const SVG = "http://www.w3.org/2000/svg";
  const PLOT = { left: 56, top: 32, wide: 320, bottom: 44, right: 28 };
  const RAISED = { "-": "⁻", ...["⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"] };
  const EVERY = "all chapters";

  function drawn(tag, attributes, text = "") {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.textContent = text;
    return node;
  }

  // 0.1, 10, 1000; what is longer has no room beside the axis: 10⁵.
  const tick = (power) =>
    Math.abs(power) < 4
      ? String(Number((10 ** power).toPrecision(1)))
      : `10${[...String(power)].map((c) => RAISED[c]).join("")}`;

  const near = (guess) => Math.abs(off(guess)) <= NEAR;
  const middle = (sorted) => sorted[Math.floor(sorted.length / 2)];

  // A chapter is called as in the list beside every page.
  const called = ({ stem, chapter }) =>
    document.querySelector(`li[data-page="book/${stem}"] a`)?.lastChild.textContent.trim() ?? chapter;

  function chapters(guesses) {
    const found = new Map();
    for (const guess of guesses) {
      const known = found.get(guess.stem) ?? { title: called(guess), guesses: [] };
      found.set(guess.stem, { ...known, guesses: [...known.guesses, guess] });
    }
    return found;
  }

  function summed(guesses) {
    const sides = guesses
      .filter(({ said }) => said.length === 1)
      .map(off)
      .sort((a, b) => a - b);
    const good = `${guesses.filter(near).length} of ${guesses.length} within a factor of two`;
    return sides.length < 3 ? `${good}.` : `${good}; the middle one of all is ${gap(middle(sides))}.`;
  }

  // What was said over what is true, each in the unit that was asked for. In the band: within a factor of two.
  function plot(guesses) {
    const points = guesses.flatMap((guess) => guess.said.map((said, i) => ({ said, truth: guess.truth[i], guess })));
    const powers = points.flatMap(({ said, truth }) => [said, truth]).map(Math.log10);
    const [first, last] = [Math.floor(Math.min(...powers)), Math.ceil(Math.max(...powers) + 1e-9)];
    const span = Math.max(last - first, 1);
    const { left, top, wide, bottom, right } = PLOT;
    const x = (power) => left + ((power - first) / span) * wide;
    const y = (power) => top + wide - ((power - first) / span) * wide;
    const whole = { width: left + wide + right, height: top + wide + bottom };
    const label = "Guess over truth, on log axes; the table below has the numbers";
    const svg = drawn("svg", { viewBox: `0 0 ${whole.width} ${whole.height}`, role: "img", "aria-label": label });
    const two = Math.log10(2);
    const band = [
      [first, first + two],
      [last - two, last],
      [last, last],
      [last, last - two],
      [first + two, first],
      [first, first],
    ];
    const corners = band.map(([across, up]) => `${x(across)},${y(up)}`).join(" ");
    svg.append(drawn("polygon", { class: "bim-guessed-near", points: corners }));
    svg.append(drawn("path", { d: `M${left} ${top}v${wide}h${wide}M${x(first)} ${y(first)}L${x(last)} ${y(last)}` }));
    for (let power = first; power <= last; power += Math.ceil(span / 5)) {
      const said = tick(power);
      svg.append(drawn("text", { x: x(power), y: top + wide + 18, "text-anchor": "middle" }, said));
      svg.append(drawn("text", { x: left - 8, y: y(power) + 4, "text-anchor": "end" }, said));
    }
    svg.append(drawn("text", { x: left + wide / 2, y: whole.height - 6, "text-anchor": "middle" }, "it is"));
    svg.append(drawn("text", { x: 0, y: 14 }, "you said"));
    for (const { said, truth } of points)
      svg.append(drawn("circle", { cx: x(Math.log10(truth)), cy: y(Math.log10(said)), r: 5 }));
    return svg;
  }

  // A number stays with its unit, unless that is a long word.
  const whole = (text) => text.replace(/(\d) (?=\S{1,5}(\s|$))/g, "$1\u00a0");

  function row(guess) {
    const { said, truth, unit, units, text, question, page, at } = guess;
    const link = made("a", { href: `../${page}.html#${at}` }, question);
    const own =
      said.length === 1
        ? mine(said[0], unit, units, text)
        : `${spell(said[0], unit, units)} to ${spell(said.at(-1), unit, units)}`;
    const far =
      said.length === 1
        ? gap(doublings(said[0], truth[0]))
        : gap(off(guess)).replace(/(.*) times too .*/, "off by a factor of $1, on average");
    const cells = [made("td", {}, link), made("td", {}, whole(own)), made("td", {}, whole(text)), made("td", {}, far)];
    return made("tr", {}, ...cells);
  }

  function table({ title, guesses }) {
    const heads = ["Question", "You said", "It is", "Gap"].map((head) => made("th", { scope: "col" }, head));
    const caption = made("caption", {}, made("strong", {}, title), `: ${summed(guesses)}`);
    const rows = guesses.map(row);
    const whole = made("table", {}, caption, made("thead", {}, made("tr", {}, ...heads)), made("tbody", {}, ...rows));
    return made("div", { class: "bim-sideways" }, whole);
  }

  function show(chosen, known) {
    const shown = chosen === EVERY ? [...known.values()] : [known.get(chosen)];
    const guesses = shown.flatMap((chapter) => chapter.guesses);
    box.querySelector("div").replaceChildren(made("p", {}, summed(guesses)), plot(guesses), ...shown.map(table));
  }

  function fill() {
    const guesses = Object.entries(all()).map(([key, guess]) => ({ ...guess, stem: key.split(":")[0] }));
    if (!guesses.length) {
      const lost = keeps()
        ? ""
        : " This browser keeps nothing for these pages, as happens to pages from a folder or in a private window.";
      box.replaceChildren(made("p", { role: "status" }, `No guesses yet.${lost}`));
      return;
    }
    const known = chapters(guesses);
    const options = [made("option", { value: EVERY }, EVERY)];
    for (const [stem, { title }] of known) options.push(made("option", { value: stem }, title));
    const select = made("select", { id: "guessed-chapter" }, ...options);
    select.addEventListener("change", () => show(select.value, known));
    const label = made("label", { for: "guessed-chapter" }, "Guesses of ");
    box.replaceChildren(made("p", {}, label, select), made("div", { "aria-live": "polite" }));
    show(EVERY, known);
  }
  document.addEventListener("bim-kept", fill);
  fill();
})();
