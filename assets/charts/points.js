// Words at a chart's points, each on the side where it lies on no other word, no mark, no line and not over the edge.
BytesInMotion.points = (() => {
  const SIZE = 11;
  const ROW = 13;
  const FAR = [8, 20, 34]; // px between a point and its words
  const APART = 3; // px between words
  const MARK = 5;
  const SIDES = [
    [0, -1],
    [0, 1],
    [1, 0],
    [-1, 0],
    [1, -1],
    [-1, -1],
    [1, 1],
    [-1, 1],
  ];
  const SVG = "http://www.w3.org/2000/svg";

  const shared = (a0, a1, b0, b1) => Math.max(0, Math.min(a1, b1) - Math.max(a0, b0));
  const overlap = (a, b) => shared(a.x, a.x + a.w, b.x, b.x + b.w) * shared(a.y, a.y + a.h, b.y, b.y + b.h);
  const within = ({ x, y, w, h }, p) => p.x >= x && p.x <= x + w && p.y >= y && p.y <= y + h;

  function boxAt({ x, y, w, h }, [dx, dy], far) {
    const shift = dx && dy ? far / 2 : far;
    return { x: x + dx * (w / 2 + shift) - w / 2, y: y + dy * (h / 2 + shift) - h / 2, w, h };
  }

  // How bad a place is: words on words are worst, then those over the edge, on a mark, on a line.
  function cost(box, { taken, area, marks, dots }) {
    const wide = { x: box.x - APART, y: box.y, w: box.w + 2 * APART, h: box.h };
    const words = taken.reduce((sum, other) => sum + overlap(wide, other), 0);
    const outside = box.w * box.h - overlap(box, area);
    const onMarks = marks.reduce((sum, mark) => sum + overlap(box, mark), 0);
    return 40 * words + 30 * outside + 10 * onMarks + 20 * dots.filter((dot) => within(box, dot)).length;
  }

  // Where the hairline from a point to its words meets them.
  const nearest = ({ x, y }, box) => ({
    x: Math.min(Math.max(x, box.x), box.x + box.w),
    y: Math.min(Math.max(y, box.y + 2), box.y + box.h - 2),
  });

  // No hairline runs through other words.
  const through = (point, box, taken) =>
    20 * dotsOf([[point, nearest(point, box)]]).filter((dot) => taken.some((words) => within(words, dot))).length;

  // The cheapest places when words are placed in this order, one after the other. -> { boxes, price }
  function inTurn(points, order, fixed) {
    const [boxes, taken] = [[], [...fixed.taken]];
    let price = 0;
    for (const i of order) {
      const tries = FAR.flatMap((far) => [points[i].wanted, ...SIDES].map((side) => boxAt(points[i], side, far)));
      const prices = tries.map((box, k) => cost(box, { ...fixed, taken }) + through(points[i], box, taken) + k);
      const least = Math.min(...prices);
      boxes[i] = tries[prices.indexOf(least)];
      taken.push(boxes[i]);
      price += least;
    }
    return { boxes, price };
  }

  // points: { x, y, w, h: of its words, wanted: [dx, dy] }; taken: boxes; dots: places on lines. -> a box for each, in their order.
  // Who comes first has the best place: some orders are tried, and the cheapest is kept.
  function settled(points, area, taken = [], dots = []) {
    const marks = points.map(({ x, y }) => ({ x: x - MARK, y: y - MARK, w: 2 * MARK, h: 2 * MARK }));
    const given = points.map((_, i) => i);
    const by = (key) => given.toSorted((i, k) => points[i][key] - points[k][key]);
    const orders = [given, by("x"), by("y"), by("w")].flatMap((order) => [order, order.toReversed()]);
    const found = orders.map((order) => inTurn(points, order, { taken, area, marks, dots }));
    return found.toSorted((one, other) => one.price - other.price)[0].boxes;
  }

  // Places along the drawn lines, a few px apart.
  function dotsOf(lines) {
    return lines.flatMap((line) =>
      line.slice(1).flatMap((to, k) => {
        const from = line[k];
        const many = Math.min(200, Math.ceil(Math.hypot(to.x - from.x, to.y - from.y) / 5)) || 1;
        return Array.from({ length: many }, (_, i) => ({
          x: from.x + ((to.x - from.x) * i) / many,
          y: from.y + ((to.y - from.y) * i) / many,
        }));
      }),
    );
  }

  // Words beside points, and not the name of a line in place of a legend, nor numbers inside of marks.
  const isSided = (trace) => {
    const { mode = "", textposition = "" } = trace;
    const isBeside = Array.isArray(textposition) || /top|bottom/.test(textposition);
    return mode.includes("markers+text") && isBeside && !BytesInMotion.ends.saysItself(trace);
  };

  // "top left" as [-1, -1]
  const sideOf = (words) => [
    words.includes("right") ? 1 : words.includes("left") ? -1 : 0,
    words.includes("top") ? -1 : words.includes("bottom") ? 1 : 0,
  ];

  const one = (value, k) => (Array.isArray(value) ? value[k] : value);

  // Where plotly drew the points of a trace, px in the picture.
  function drawn(box, i) {
    const { xaxis = "x", yaxis = "y" } = box._fullData[i];
    const [across, up] = [xaxis, yaxis].map((name) => box._fullLayout[`${name[0]}axis${name.slice(1)}`]);
    return box.calcdata[i].map(({ x, y }) => ({ x: across._offset + across.c2p(x), y: up._offset + up.c2p(y) }));
  }

  function pointsOf(box, { text, textposition }, i, widthOf) {
    return drawn(box, i).flatMap((place, k) => {
      if (!one(text, k)) return [];
      const rows = one(text, k).split("<br>");
      const wanted = sideOf(one(textposition, k) ?? "");
      return { ...place, rows, wanted, w: Math.max(...rows.map(widthOf)) + 2, h: rows.length * ROW };
    });
  }

  function label({ rows, wanted }, { x, y, w }) {
    const made = document.createElementNS(SVG, "text");
    const [anchor, at] = wanted[0] ? ["start", x + 1] : ["middle", x + w / 2];
    made.setAttribute("text-anchor", anchor);
    rows.forEach((row, r) => {
      const line = document.createElementNS(SVG, "tspan");
      line.setAttribute("x", at);
      line.setAttribute("y", y + (r + 0.78) * ROW);
      line.textContent = row;
      made.append(line);
    });
    return made;
  }

  // From a point to words that had to move away from it.
  function leader({ x, y }, box) {
    const end = nearest({ x, y }, box);
    if (Math.hypot(end.x - x, end.y - y) < FAR[1] - 2) return "";
    const made = document.createElementNS(SVG, "path");
    made.setAttribute("d", `M${x} ${y}L${end.x} ${end.y}`);
    return made;
  }

  // Boxes of what the chart itself has: words beside a line across it, and such lines.
  function parts(box, selector) {
    const whole = box.querySelector(".main-svg").getBoundingClientRect();
    const scale = whole.width / box._fullLayout.width || 1;
    return [...box.querySelectorAll(selector)].map((part) => {
      const { left, top, width, height } = part.getBoundingClientRect();
      return { x: (left - whole.left) / scale, y: (top - whole.top) / scale, w: width / scale, h: height / scale };
    });
  }

  const across = ({ x, y, w, h }) => [
    { x, y },
    { x: x + w, y: y + h },
  ];

  // Draws the words anew. traces: as the author gave them; indexes: of those with words; taken: boxes of other words.
  function place(box, traces, indexes, taken) {
    box.querySelector(".bim-points")?.remove();
    if (!indexes.length) return;
    const { l, t, w, h } = box._fullLayout._size;
    const widthOf = BytesInMotion.ends.widthIn(box._fullLayout.font.family, SIZE);
    const points = indexes.flatMap((i) =>
      box._fullData[i].visible === true ? pointsOf(box, traces[i], i, widthOf) : [],
    );
    const lines = traces.flatMap(({ mode = "" }, i) => (mode.includes("lines") ? [drawn(box, i)] : []));
    const area = { x: l, y: t - ROW, w: w + box._fullLayout._size.r, h: h + ROW }; // a word may stand in the margins
    lines.push(...parts(box, ".shapelayer path").map(across));
    const boxes = settled(points, area, [...taken, ...parts(box, ".annotation")], dotsOf(lines));
    const group = document.createElementNS(SVG, "g");
    group.setAttribute("class", "bim-points");
    group.append(
      ...points.map((point, k) => leader(point, boxes[k])),
      ...points.map((point, k) => label(point, boxes[k])),
    );
    box.querySelector(".main-svg").append(group);
  }

  return { isSided, place, settled };
})();
