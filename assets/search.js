// The search page. MiniSearch looks in what website/search.py wrote; nothing is fetched, so a book opened from a folder is searched, too.
BytesInMotion.search = (entries, same) => {
  const COMMON = new Set(
    "a an and are as at be but by can do does for from how i if in into is it my of on or so that the then this to was what when where which who why will with you".split(
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
  const REST = 0.2; // what the other sections of a page add to its best one
  const SOME = 0.2; // what counts a section that has some of the words, not all
  const VERY = 2; // what counts a section whose heading is the question
  const LEAST = 0.04; // of the best page's score: what has less is not shown

  // Fusion, fusing and fused are one word.
  function stem(word) {
    const ending = ENDINGS.find((end) => word.endsWith(end) && word.length - end.length > 2);
    return ending ? word.slice(0, -ending.length) : word;
  }

  // "all_reduce" is found as all, as reduce and as allreduce.
  function tokens(text) {
    const runs = text.toLowerCase().match(/[\p{L}\p{N}]+(?:[-_.'’][\p{L}\p{N}]+)*/gu) ?? [];
    return runs.flatMap((run) => {
      const parts = run.match(/[\p{L}\p{N}]+/gu);
      return parts.length > 1 ? [...parts, parts.join("")] : parts;
    });
  }

  const engine = new MiniSearch({
    fields: FIELDS,
    storeFields: ["page", ...FIELDS, "at"],
    tokenize: tokens,
    processTerm: stem,
  });
  engine.addAll(entries.map((entry, id) => ({ id, ...entry })));

  const options = {
    boost: { title: 8, heading: 4, text: 1, code: 0.5 },
    boostDocument: (_, __, { page }) => (page.startsWith("notebooks/") ? LAB : 1),
    prefix: (word) => word.length > 3,
    fuzzy: (word) => word.length > 5 && 0.2,
    weights: { fuzzy: 0.1, prefix: 0.375 }, // a word misspelt finds its page; one that is only alike does not win over the word itself
    tokenize: (word) => [word],
    processTerm: stem,
  };

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

  function words(question) {
    const all = question.split(" ");
    const telling = all.filter((word) => !COMMON.has(word));
    return telling.length ? telling : all;
  }

  // -> [{ page, title, at, heading, text, code, terms, score }], a page once, by its best section
  function find(question) {
    const asked = plain(question);
    if (!asked) return [];
    const queries = [asked, ...others(asked)].map((one) => ({ combineWith: "AND", queries: words(one) }));
    const all = engine.search({ combineWith: "OR", queries }, options);
    const some = engine.search({ combineWith: "OR", queries: words(asked) }, options);
    const pages = new Map();
    const told = (hit) => ({ ...hit, score: (plain(hit.heading) === asked ? VERY : 1) * hit.score });
    for (const hit of [...all.map(told), ...some.map((one) => ({ ...one, score: SOME * one.score }))]) {
      const best = pages.get(hit.page);
      if (best) best.score += REST * hit.score;
      else pages.set(hit.page, hit);
    }
    const found = [...pages.values()].sort((a, b) => b.score - a.score);
    return found.filter(({ score }) => score > LEAST * found[0].score);
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
    document.querySelectorAll('input[name="q"]').forEach((input) => {
      input.value = question;
    });
    const hits = find(question);
    const list = Object.assign(document.createElement("ol"), { className: "search" });
    list.append(...hits.map(item));
    document.getElementById("search-results").replaceChildren(list);
    const more = others(plain(question));
    const told = hits.length
      ? `${hits.length} ${hits.length === 1 ? "page" : "pages"}, best first.`
      : `No page has “${question}”.`;
    document.getElementById("search-progress").textContent =
      told + (more.length ? ` Also looked for: ${more.slice(0, 3).join(", ")}.` : "");
  }

  BytesInMotion.find = find; // tests ask it
  const question = new URLSearchParams(location.search).get("q");
  if (question) show(question);
};
