// The search page. MiniSearch looks in what website/search.py wrote; nothing is fetched, so a book opened from a folder is searched, too.
BytesInMotion.search = (entries, same) => {
  const COMMON = new Set(
    "a able an and any are as at be but by can cannot did difference different do does doesn don for from get got has have how i if in into is it its make me my of on or over per please possible s so sure t than that the then there this to unable use using want was we what when where which who why will with you your".split(
      " ",
    ),
  );
  const FIELDS = ["title", "heading", "text", "code"];
  const BEFORE = 90; // letters of an excerpt before the first word found, and of the whole
  const WHOLE = 260;
  const plain = (text) => (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join(" ");
  const ENDINGS = ["ation", "ations", "ing", "ings", "ion", "ions", "ed", "es", "e", "s"].sort(
    (a, b) => b.length - a.length,
  );
  const LAB = 0.15; // a chapter explains, its lab tries
  const REPAIR = 0.9; // and a word alone asks what it is, before how it is repaired
  const REST = 0.2; // what the other sections of a page add to its best one
  const SOME = 0.2; // what counts a section that has some of the words, not all
  const VERY = 2; // what counts a section whose heading is the question
  const NAMED = 1.2; // and one whose heading has its words
  const LEAST = 0.04; // of the best page's score: what has less is not shown
  const NEAR = 0.4; // of a page's best section: a section with this much is shown in place of the page's top, exercises or sources

  // Fusion, fusing and fused are one word; so are hierarchies and hierarchical, quantise and quantization.
  function stem(said) {
    const word = said.replace(/(?:ical|ically|ies)$/, "y").replace(/iz(?=(?:e|ed|es|ing|ations?)$)/, "is");
    const ending = ENDINGS.find((end) => word.endsWith(end) && word.length - end.length > 2);
    return ending ? word.slice(0, -ending.length) : word;
  }

  // "ncclAllReduce" has joints, too, which are looked at where it is asked for: `take.humps`.
  function humps(said, take) {
    const parts = take.humps ? said.split(/(?<=\p{Ll})(?=\p{Lu})/u).map((part) => part.toLowerCase()) : [];
    return parts.length > 1 ? take.humps(parts, parts.join("")) : [said.toLowerCase()];
  }

  // The words of a text. One with joints is what `take` makes of its parts and the whole: "all_reduce" of all, reduce and allreduce.
  function split(text, take) {
    const runs = text.match(/[\p{L}\p{N}]+(?:[-_.'’][\p{L}\p{N}]+)*/gu) ?? [];
    return runs.flatMap((said) => {
      const run = said.toLowerCase();
      const parts = run.match(/[\p{L}\p{N}]+/gu);
      return parts.length > 1 ? take(parts, parts.join(""), run) : humps(said, take);
    });
  }

  const join = (parts, whole) => [...parts, whole];
  const engine = new MiniSearch({
    fields: FIELDS,
    storeFields: ["page", ...FIELDS, "at", "aside"],
    tokenize: (text) => split(text, join),
    processTerm: stem,
  });
  engine.addAll(entries.map((entry, id) => ({ id, ...entry })));

  const options = {
    boost: { title: 8, heading: 4, text: 1, code: 0.5 },
    boostDocument: (_, __, { page }) =>
      page.startsWith("notebooks/") ? LAB : page === "book/repair.html" ? REPAIR : 1,
    prefix: (word) => word.length > 3,
    fuzzy: (word) => word.length > 5 && 0.2,
    weights: { fuzzy: 0.1, prefix: 0.375 }, // a word misspelt finds its page; one that is only alike does not win over the word itself
    tokenize: (word) => [word],
    processTerm: stem,
  };

  const LOOSE = { boost: { ...options.boost, title: 2 } }; // of many words one in a page's title tells little

  // The question in other words for the same: each is looked for, too.
  function others(asked) {
    const told = ` ${asked} `;
    return same
      .map((group) => group.map(plain))
      .flatMap((group) => {
        const said = group.filter((phrase) => told.includes(` ${phrase} `)).sort((a, b) => b.length - a.length)[0];
        return said
          ? group.filter((phrase) => phrase !== said).map((phrase) => told.replace(` ${said} `, ` ${phrase} `).trim())
          : [];
      });
  }

  const looked = (queries, how = {}) => engine.search({ combineWith: "OR", queries }, { ...options, ...how });
  const kept =
    (ask, known = new Map()) =>
    (word) =>
      known.get(word) ?? known.set(word, ask(word).length > 0).get(word);
  const has = kept((word) => looked([word], { prefix: false, fuzzy: false }));
  const like = kept((word) => looked([word])); // or one that begins so, or is misspelt

  // What tells in a question. Of an identifier that a page has: the whole, with or without its parts.
  function words(question, parted = true) {
    const take = (parts, whole, run) => (run.includes("_") && has(whole) ? [...(parted ? parts : []), whole] : parts);
    take.humps = (parts, whole) => (like(whole) ? [whole] : parts);
    const all = split(question, take);
    const telling = all.filter((word) => !COMMON.has(word));
    return telling.length ? telling : all;
  }

  // -> { hits: [{ page, title, at, heading, text, code, terms, score }], unknown }: a page once, by its best section
  function find(question) {
    const asked = plain(question);
    const known = (words) => words.filter(like);
    const named = split(question, (parts, whole, run) => (run.includes("_") && !has(whole) ? [run] : parts));
    const unknown = named.filter((word) => word.includes("_") || !(COMMON.has(word) || like(word)));
    const [every, any] = [known(words(question)), known(words(question, false))];
    if (!any.length) return { hits: [], unknown };
    const ways = [every, ...others(asked).map((other) => words(other))];
    const all = looked(ways.map((queries) => ({ combineWith: "AND", queries })));
    const holds = (text) => any.every((word) => split(text, join).map(stem).includes(stem(word)));
    const clear = (heading) => (plain(heading) === asked ? VERY : holds(heading) ? NAMED : 1);
    const told = (hit) => ({ ...hit, score: clear(hit.heading) * hit.score });
    const share = (terms) => new Set(terms).size / new Set(any.map(stem)).size;
    const loose = looked(any, LOOSE);
    const on = new Map(); // the words that a page has, in whichever section
    for (const { page, queryTerms } of loose) on.set(page, [...(on.get(page) ?? []), ...queryTerms]);
    const some = loose.map((hit) => ({
      ...hit,
      score: SOME * share(hit.queryTerms) * share(on.get(hit.page)) * hit.score,
    }));
    const pages = new Map();
    for (const hit of [...all.map(told), ...some]) pages.set(hit.page, [...(pages.get(hit.page) ?? []), hit]);
    const titled = ({ title }) => holds(title);
    const found = [...pages.values()].map((sections) => best(sections, titled)).sort((a, b) => b.score - a.score);
    return { hits: found.filter(({ score }) => score > LEAST * found[0].score), unknown };
  }

  // Of a page's sections the one to show, its top if its title is what was asked; and what the others add to the best one's score.
  function best(sections, titled) {
    const [first, ...rest] = sections.sort((a, b) => b.score - a.score);
    const explains = ({ at, aside, score }) => at && !aside && score > NEAR * first.score;
    const shown =
      sections.find((hit) => (titled(hit) ? !hit.at : explains(hit))) ?? sections.find(({ aside }) => !aside) ?? first;
    return { ...shown, score: rest.reduce((sum, { score }) => sum + REST * score, first.score) };
  }

  // Letters around the first word found, with every word found marked.
  function excerpt({ text, code, terms }) {
    const any = terms.map((term) => term.replace(/[^\p{L}\p{N}]/gu, "\\$&")).join("|");
    const found = new RegExp(`(?<![\\p{L}\\p{N}])(?:${any})[\\p{L}\\p{N}]*`, "giu");
    const whole = text.search(found) < 0 && code.search(found) >= 0 ? code : text;
    const first = Math.max(0, whole.search(found));
    const from = first > BEFORE ? whole.indexOf(" ", first - BEFORE) + 1 : 0;
    const part = whole.slice(from, from + WHOLE);
    const to = from + WHOLE < whole.length ? part.lastIndexOf(" ") : part.length;
    const shown = (from ? "… " : "") + part.slice(0, to) + (to < part.length ? " …" : "");
    const node = Object.assign(document.createElement("p"), { className: "context" });
    let end = 0;
    for (const { index, 0: word } of shown.matchAll(found)) {
      node.append(shown.slice(end, index), Object.assign(document.createElement("mark"), { textContent: word }));
      end = index + word.length;
    }
    node.append(shown.slice(end));
    return node;
  }

  function item(hit) {
    const node = document.createElement("li");
    const to = hit.page + (hit.at && `#${hit.at}`);
    node.append(Object.assign(document.createElement("a"), { href: to, textContent: hit.title }));
    if (hit.at)
      node.append(
        Object.assign(document.createElement("span"), { className: "bim-section", textContent: hit.heading }),
      );
    node.append(excerpt(hit));
    return node;
  }

  function show(question) {
    const { hits, unknown } = find(question);
    const list = Object.assign(document.createElement("ol"), { className: "search" });
    list.append(...hits.map(item));
    document.getElementById("search-results").replaceChildren(list);
    const more = others(plain(question));
    const told = hits.length ? [`${hits.length} ${hits.length === 1 ? "page" : "pages"}, best first.`] : [];
    const lacked = hits.length ? unknown.join("”, “") : question;
    if (lacked) told.push(`No page has “${lacked}”.`);
    if (more.length) told.push(`Also looked for: ${more.slice(0, 3).join(", ")}.`);
    document.getElementById("search-progress").textContent = told.join(" ");
  }

  BytesInMotion.find = find; // the box on every page asks it, and tests do
  const box = document.querySelector(".bim-ask input"); // on the search page alone
  const question = new URLSearchParams(location.search).get("q");
  if (box && question) show((box.value = question));
  box?.addEventListener("input", () => {
    history.replaceState(null, "", `?${new URLSearchParams({ q: box.value })}`);
    show(box.value.trim());
  });
};
