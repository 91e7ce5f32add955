// Three drawings on one grid of 32 columns: lanes by steps, memory by sectors, banks by passes.
import { svg } from "../shared/page/dom.mjs";
import { times } from "../shared/page/numbers.mjs";
import { banked, issued, LANES, LINE, SECTOR, touched } from "./lanes.mjs";

const [LEFT, WIDE, TOP] = [64, 656, 26];
const CELL = (WIDE - LEFT) / LANES;
const TALL = 264; // of all rows together

const label = (x, y, words, kind = "") => svg("text", { x, y, class: `bim-axis ${kind}` }, `${words}`);
const box = (x, y, width, height, kind) =>
  svg("rect", { x: LEFT + x, y, width, height, rx: Math.min(3, height / 3), class: kind });

// Rows of one height, as many as there are, on a sheet of one height, so that nothing below it jumps: what could be there is outlined.
// Every `each`-th is named.
function sheet(rows, name, heads, body) {
  const tall = Math.min(32, TALL / rows);
  const each = Math.ceil(24 / tall); // letters are this high on a telephone
  const names = times(rows, (i) => i % each === 0 && label(LEFT - 8, TOP + (i + 0.5) * tall + 4, name(i), "bim-end"));
  return svg(
    "svg",
    { viewBox: `0 0 ${WIDE} ${TOP + TALL + 4}`, class: "bim-lanes", "aria-hidden": "true" },
    heads,
    names,
    times(Math.floor(TALL / tall) - rows, (i) =>
      box(0, TOP + (rows + i) * tall + 1, WIDE - LEFT, tall - 2, "bim-spare"),
    ),
    body(tall),
  );
}

const columns = (unit, marks) => [
  label(LEFT - 8, 16, unit, "bim-end"),
  marks.map((i) => label(LEFT + (i + 0.5) * CELL, 16, i, "bim-middle")),
];

// A row per instruction: solid where a lane takes part, light where it waits.
function branchPicture(s) {
  const steps = issued(s);
  return sheet(
    steps.length,
    (i) => i + 1,
    columns("lane", [0, 8, 16, 24, 31]),
    (tall) =>
      steps.map(({ branch, lanes }, i) => [
        box(0, TOP + i * tall + 1, WIDE - LEFT, tall - 2, "bim-waits"),
        svg(
          "g",
          { class: `bim-s${branch % 8}` },
          lanes.map((lane) => box(lane * CELL + 1, TOP + i * tall + 1, CELL - 2, tall - 2, "bim-rank")),
        ),
      ]),
  );
}

// A row per 128-byte line from the first touched to the last: sectors that move are framed, bytes asked for are solid.
function memoryPicture(s) {
  const { asked, sectors, lines } = touched(s);
  const byte = (WIDE - LEFT) / LINE;
  const rows = lines.at(-1) + 1;
  const heads = [
    label(LEFT - 8, 16, "line", "bim-end"),
    times(4, (i) => label(LEFT + (i + 0.5) * SECTOR * byte, 16, `sector ${i}`, "bim-middle")),
  ];
  const runs = asked.filter(
    (at, i) => !(i && asked[i - 1] === at - 1 && Math.floor(at / SECTOR) === Math.floor(asked[i - 1] / SECTOR)),
  );
  const length = (start) => {
    let end = start;
    while (asked.includes(end + 1) && Math.floor((end + 1) / SECTOR) === Math.floor(start / SECTOR)) end += 1;
    return end - start + 1;
  };
  return sheet(
    rows,
    (i) => i,
    heads,
    (tall) => [
      times(rows, (i) =>
        times(4, (k) =>
          box(
            k * SECTOR * byte + 1,
            TOP + i * tall + 1,
            SECTOR * byte - 2,
            tall - 2,
            sectors.includes(4 * i + k) ? "bim-moves" : "bim-stays",
          ),
        ),
      ),
      runs.map((at) =>
        box(
          (at % LINE) * byte + 1,
          TOP + Math.floor(at / LINE) * tall + 1 + tall * 0.2,
          length(at) * byte - (length(at) * byte > 4 ? 2 : 1),
          tall * 0.6 - 2,
          "bim-asked",
        ),
      ),
    ],
  );
}

// A row per pass: in each, a bank serves one word.
function banksPicture(s) {
  const words = banked(s);
  const ways = Math.max(...words.map((one) => one.length));
  return sheet(
    ways,
    (i) => i + 1,
    columns("bank", [0, 8, 16, 24, 31]),
    (tall) =>
      times(ways, (pass) =>
        words.map((one, bank) =>
          box(
            bank * CELL + 1,
            TOP + pass * tall + 1,
            CELL - 2,
            tall - 2,
            pass < one.length ? "bim-asked" : "bim-waits",
          ),
        ),
      ),
  );
}

export const warpPicture = (s) => ({ branch: branchPicture, memory: memoryPicture, banks: banksPicture })[s.view](s);
