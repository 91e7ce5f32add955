// Names of a chart's lines where the lines end, in their colours, apart from each other.
BytesInMotion.ends = (() => {
  const MOST = 6; // lines: the names of more of them go into a key
  const SIZE = 12;
  const ROW = 15;
  const BESIDE = 10; // px from a line's end to its name
  const WIDE = 0.32; // of the chart's width: a longer name is broken into rows

  const SVG = "http://www.w3.org/2000/svg";

  function node(tag, attributes, ...children) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  // Tops of boxes that are wanted around `wanted`, so near to it as they fit under each other between low and high.
  function apart(wanted, heights, [low, high], gap = 2) {
    function stacked(items) {
      const size = items.reduce((sum, i) => sum + heights[i] + gap, -gap);
      let [above, sum] = [0, 0];
      for (const i of items) {
        sum += wanted[i] - heights[i] / 2 - above;
        above += heights[i] + gap;
      }
      return { items, size, top: Math.max(low, Math.min(sum / items.length, high - size)) };
    }
    const groups = [];
    for (const i of wanted.map((_, at) => at).sort((a, b) => wanted[a] - wanted[b])) {
      let group = stacked([i]);
      while (groups.length && groups.at(-1).top + groups.at(-1).size + gap > group.top)
        group = stacked([...groups.pop().items, ...group.items]);
      groups.push(group);
    }
    const tops = [];
    for (const { items, top } of groups) {
      let at = top;
      for (const i of items) {
        tops[i] = at;
        at += heights[i] + gap;
      }
    }
    return tops;
  }

  // "recursive-doubling, prediction" in rows of at most so many px; widthOf(text)
  function broken(text, most, widthOf) {
    const rows = [""];
    for (const part of text.split(/(?<=[ -])/)) {
      const longer = rows.at(-1) + part;
      if (rows.at(-1) && widthOf(longer.trimEnd()) > most) rows.push(part);
      else rows[rows.length - 1] = longer;
    }
    return rows.map((row) => row.trimEnd());
  }

  const isLine = ({ type = "scatter", mode = "", name, hoverinfo }) =>
    type === "scatter" && mode.includes("lines") && Boolean(name) && hoverinfo !== "skip";

  // Its own name alone, written at one of its points: what JupyterLab shows in place of a name at the line's end.
  const saysItself = ({ text, name }) => {
    const words = Array.isArray(text) ? text.filter(Boolean) : [];
    return words.length === 1 && words[0] === name;
  };

  function inLegend({ data, layout }) {
    const named = data.filter((trace) => trace.showlegend !== false);
    const isShown = layout.showlegend ?? named.length > 1;
    return (trace) => isShown && trace.showlegend !== false && Boolean(trace.name);
  }

  // Which traces have their names at their ends, and which in a key: indexes. A roof's name stands at its end.
  function parted({ data, layout }) {
    const listed = inLegend({ data, layout });
    const ends = data.flatMap((trace, i) => (isLine(trace) && (listed(trace) || saysItself(trace)) ? [i] : []));
    const fits = ends.length <= MOST ? ends : [];
    const keys = data.flatMap((trace, i) => (listed(trace) && !fits.includes(i) ? [i] : []));
    return { ends: fits, keys };
  }

  let pen = null;
  function widthIn(font, size = SIZE) {
    pen ??= document.createElement("canvas").getContext("2d");
    return (text) => {
      pen.font = `500 ${size}px ${font}`;
      return pen.measureText(text).width;
    };
  }

  // The names in rows and the margin that they take, for a chart so wide; one alone stands over its line's end.
  function measured(names, width, font) {
    if (names.length < 2) return { rows: names.map((name) => [name]), margin: 0 };
    const widthOf = widthIn(font);
    const rows = names.map((name) => broken(name, Math.max(84, WIDE * width), widthOf));
    return { rows, margin: Math.ceil(Math.max(...rows.flat().map(widthOf))) + BESIDE + 4 };
  }

  // The last point of a drawn line that is in the picture: px in the plot, or null.
  function endOf(points, xaxis, yaxis) {
    for (let k = points.length - 1; k >= 0; k--) {
      const [x, y] = [xaxis.c2p(points[k].x), yaxis.c2p(points[k].y)];
      const isIn = x >= -1 && x <= xaxis._length + 1 && y >= -1 && y <= yaxis._length + 1;
      if (Number.isFinite(x + y) && isIn) return { x: xaxis._offset + x, y: yaxis._offset + y };
    }
    return null;
  }

  function label({ rows, colour, x, top, isOver }) {
    const lines = rows.map((row, r) => node("tspan", { x, y: top + (r + 0.8) * ROW }, row));
    return node("text", { fill: colour, "text-anchor": isOver ? "end" : "start" }, ...lines);
  }

  // A name that had to move away keeps a hairline to its line's end.
  function leader({ end, colour, x, middle }) {
    const from = end.x + 4;
    const isNear = Math.abs(middle - end.y) < ROW && x - from < 3 * BESIDE;
    return isNear ? "" : node("path", { d: `M${from} ${end.y}L${x - 3} ${middle}`, stroke: colour });
  }

  // Draws the names anew into the chart's own picture, so that they go to paper with it. rows: as measured. -> their boxes
  function place(box, indexes, rows) {
    box.querySelector(".bim-ends")?.remove();
    const { _fullData: full, _fullLayout: layout, calcdata } = box;
    const found = indexes.flatMap((i, r) => {
      const { xaxis = "x", yaxis = "y", line, visible } = full[i];
      const end = visible === true && endOf(calcdata[i], layout[axis(xaxis)], layout[axis(yaxis)]);
      return end ? [{ end, rows: rows[r], colour: line.color }] : [];
    });
    const isOver = indexes.length === 1;
    const { t, h } = layout._size;
    const heights = found.map((one) => one.rows.length * ROW);
    const wanted = found.map(({ end }, i) => (isOver ? end.y - heights[i] / 2 - 6 : end.y));
    const tops = apart(wanted, heights, [t - 6, t + h + 6]);
    const group = node("g", { class: "bim-ends" });
    found.forEach((one, i) => {
      const x = one.end.x + (isOver ? 0 : BESIDE);
      if (!isOver) group.append(leader({ ...one, x, middle: tops[i] + heights[i] / 2 }));
      group.append(label({ ...one, x, top: tops[i], isOver }));
    });
    box.querySelector(".main-svg").append(group);
    const widthOf = widthIn(layout.font.family);
    return found.map(({ end, rows: words }, i) => {
      const w = Math.max(...words.map(widthOf));
      return { x: isOver ? end.x - w : end.x + BESIDE, y: tops[i], w, h: heights[i] };
    });
  }

  const axis = (name) => `${name[0]}axis${name.slice(1)}`;

  return { apart, broken, measured, parted, place, saysItself, widthIn };
})();
