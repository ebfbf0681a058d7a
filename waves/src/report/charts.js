// The charts where scripts run: uPlot draws what the still pictures show, from the same paths, and a stretch of time can
// be enlarged. All charts, the strip and "Who paused whom" show the same stretch. Print has the stills.
for (const holder of document.querySelectorAll(".charts[data-axis]")) {
  const { whole, part, width: units, height: steps, fine, finer } = JSON.parse(holder.dataset.axis);
  const [begin, end] = whole;
  const phone = matchMedia("(max-width:700px)"), font = chartMarks.font;
  let [from, to] = part;
  // Room that the values beside the axes need, if it is more than in the stills.
  let room = 0;
  // Finer paths, if there are any, where a picture has not many more of their columns than of the others.
  const near = () => fine && ((to - from) / (end - begin)) * fine <= 400;
  const atFirst = () => from === part[0] && to === part[1];

  let told = null;
  const tell = (...ends) => {
    // Once a frame, however fast the pointer moves.
    if (!told) requestAnimationFrame(() => {
      stretch.tell(...told);
      told = null;
    });
    told = ends;
  };

  const written = (value, least, most) =>
    value.toLocaleString("en", { minimumFractionDigits: least, maximumFractionDigits: most }).replace("-", "−");
  const when = ns => stretch.when(ns, [from, to]);
  const number = value => (value == null ? "–" : written(Number(value.toPrecision(4)), 0, 9));
  const ticks = (splits, size, step) => {
    const digits = Math.min(9, Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9)));
    return splits.map(value => written(value / size, digits, digits));
  };

  // The pieces of a path, each a list of times and values: M, then h, v and l from where the pen is.
  const pieces = (path, [low, high], width) => {
    const all = [];
    let [x, y] = [0, 0];
    for (const [, command, places] of (path?.getAttribute("d") ?? "").matchAll(/([Mhvl])([^MhvlZ]*)/g)) {
      const n = places.match(/-?\d+/g).map(Number);
      if (command === "M") all.push([]), [x, y] = n;
      else x += command === "v" ? 0 : n[0], y += command === "h" ? 0 : n.at(-1);
      all.at(-1).push([begin + (x / width) * (end - begin), high - (y / steps) * (high - low)]);
    }
    return all;
  };
  // The upper and the lower edge of outlines, which go along the one and back along the other.
  const edges = outlines => [0, 1].map(lower => outlines.map(outline => {
    const right = Math.max(...outline.map(point => point[0]));
    const turn = outline.findIndex(point => point[0] === right), back = outline.findLastIndex(point => point[0] === right);
    return lower ? outline.slice(back).reverse() : outline.slice(0, turn + 1);
  }));
  // The values of pieces at times; where a piece jumps, those after it.
  const at = (pieces, times) => {
    let [piece, place] = [0, 0];
    return times.map(time => {
      while (piece < pieces.length - 1 && pieces[piece + 1][0][0] <= time) piece++, place = 0;
      const points = pieces[piece];
      if (!points || time < points[0][0] || time > points.at(-1)[0]) return null;
      while (place < points.length - 1 && points[place + 1][0] <= time) place++;
      const [a, b] = [points[place], points[place + 1] ?? points[place]];
      return a[1] + (b[0] > a[0] ? ((b[1] - a[1]) * (time - a[0])) / (b[0] - a[0]) : 0);
    });
  };
  // What uPlot draws of a figure: areas and bands are two series each with what is between them filled; lines lie on
  // them, the first on top. `lines` has the number of the series of each line, `data` the values of all series, of the
  // paths of the stills and of finer ones.
  const seriesOf = (figure, given, colour) => {
    const series = [{}], bands = [], lines = [], curves = { "": [], f: [] };
    const path = (what, index) => figure.querySelector(`#c${given.number}${what}${index}`);
    const isStep = ([x, y], i, piece) => !i || x === piece[i - 1][0] || y === piece[i - 1][1];
    const isStairs = curve => curve.every(piece => piece.every(isStep));
    // Adds the series of a path: `parts` gives the curve of each.
    const add = (what, index, options, parts = curve => [curve]) => {
      for (const [kind, width] of [["", units], ["f", units * finer]])
        curves[kind].push(...parts(pieces(path(kind + what, index), given.values ?? [0, 1], width)));
      return parts([]).map(() => {
        const number = series.length, stairs = () => isStairs(curves[near() ? "f" : ""][number - 1]);
        const paths = (...all) => (stairs() ? uPlot.paths.stepped({ align: 1 }) : uPlot.paths.linear())(...all);
        return series.push({ stairs, paths, points: { show: false }, width: 0, ...options }) - 1;
      });
    };
    const between = (what, index, fill) => bands.push({ series: add(what, index, {}, edges), fill });
    if (given.values) {
      const swatches = [...figure.querySelectorAll(".legend .swatch path:first-child")];
      const count = swatches.filter(swatch => !swatch.matches(".area")).length;
      swatches.slice(count).forEach((swatch, i) => between("a", i, () => colour(swatch, "fill", 0.16)));
      for (let i = count - 1; i >= 0; i--)
        if (path("r", i)) between("r", i, () => colour(swatches[i], "stroke", given.range_opacity));
      for (let i = count - 1; i >= 0; i--) {
        const dash = getComputedStyle(swatches[i]).strokeDasharray.match(/[\d.]+/g)?.map(Number);
        [lines[i]] = add("l", i, { stroke: () => colour(swatches[i], "stroke"), width: 1.8, dash });
      }
    } else add("l", 0, {});
    const data = kind => {
      const times = new Set([begin, end]);
      for (const piece of curves[kind].flat()) {
        for (const [time] of piece) times.add(time);
        // Where a piece ends there may be a gap.
        times.add(piece.at(-1)[0] + 0.5);
      }
      const x = [...times].sort((a, b) => a - b);
      return [x, ...curves[kind].map(curve => at(curve, x))];
    };
    return { series, bands, lines, data: { "": data(""), f: fine ? data("f") : null } };
  };

  // The ends of the value axis: at first those of the still; later from 0, or the least, to the greatest that is shown,
  // and to thresholds near it.
  const ends = (given, [x, ...all]) => {
    if (!given.values) return [0, 1];
    if (given.fixed || atFirst()) return given.values;
    const [a, b] = [Math.max(0, x.findLastIndex(time => time <= from)), x.findIndex(time => time >= to)];
    const shown = all.flatMap(values => values.slice(a, b + 1)).filter(value => value != null);
    const low = shown.reduce((least, value) => Math.min(least, value), 0);
    const most = shown.reduce((most, value) => Math.max(most, value), 0);
    const high = Math.max(most, ...given.levels.map(level => level[1]).filter(value => value <= 2 * most));
    return high > low ? [low, high + (high - low) * 0.05] : given.values;
  };

  // uPlot knows mice: a finger that goes sideways is one; up and down it moves the page.
  const fingers = over => {
    for (const [pointer, mouse] of [["down", "mousedown"], ["move", "mousemove"], ["up", "mouseup"], ["cancel", "mouseup"]])
      over.addEventListener("pointer" + pointer, event => {
        if (event.pointerType === "mouse") return;
        // uPlot leaves out moves by nothing.
        const { clientX, clientY } = event, options = { clientX, clientY, movementX: 1, bubbles: true };
        (mouse === "mouseup" ? document : over).dispatchEvent(new MouseEvent(mouse, options));
      });
  };

  // The value of a line: that of the step at the time, or between the points around it.
  const valueAt = ({ data: [x, ...all], series }, line, time) => {
    const values = all[line - 1], before = x.findLastIndex(other => other <= time), after = before + 1;
    if (series[line].stairs() || values[before] == null || values[after] == null) return values[before];
    return values[before] + ((values[after] - values[before]) * (time - x[before])) / (x[after] - x[before]);
  };

  // Says the time at the pointer, and the values of the lines then.
  const point = (figure, given, lines, chart) => {
    const outside = chart.cursor.left == null || chart.cursor.left < 0;
    const now = outside ? null : chart.posToVal(chart.cursor.left, "x"), outputs = figure.querySelectorAll(".legend output");
    figure.querySelector("output.time").textContent = outside ? "" : "at " + when(now);
    lines.forEach((line, i) => {
      const value = outside ? null : valueAt(chart, line, now);
      if (outputs[i]) outputs[i].textContent = outside ? "" : number(value == null ? null : value / given.divisor);
    });
  };

  const make = figure => {
    const given = JSON.parse(figure.dataset.chart);
    const rows = JSON.parse(figure.querySelector("script.spans")?.textContent ?? "[]");
    // Colours are those of the stills, in light and dark.
    const colour = (of, property = "fill", opacity = 1) => {
      const found = typeof of === "string" ? figure.querySelector("svg.chart " + of) : of;
      const rgb = found ? getComputedStyle(found)[property] : "rgb(128, 128, 128)";
      return opacity === 1 ? rgb : rgb.replace("rgb(", "rgba(").replace(")", `, ${opacity})`);
    };
    const still = () => {
      const svg = figure.querySelectorAll(":scope > svg.chart")[phone.matches ? 1 : 0], plot = svg.querySelector(".plot");
      const all = svg.viewBox.baseVal.width, [left, width] = [plot.x.baseVal.value, plot.width.baseVal.value];
      // Texts of the time axis are as far beyond its ends as half of them.
      const half = chartMarks.width(when(to)) / 2 + 2;
      return { left: Math.max(left, half, room), right: Math.max(all - left - width, half) };
    };
    const marks = () => chartMarks.place(given.marks, [from, to], still(), figure.clientWidth);
    const size = () => ({
      width: figure.clientWidth,
      height: 40 + 17 * marks().rows + (given.values ? (phone.matches ? 190 : 220) : rows.length * (phone.matches ? 33 : 20)),
    });
    const { series, bands, lines, data } = seriesOf(figure, given, colour);
    const needed = () => {
      const [low, high] = ends(given, data[near() ? "f" : ""]);
      // A value every 30 pixels.
      const values = given.values ? ticks([low, high], given.divisor, (high - low) / 7) : [];
      return Math.max(0, ...values.map(chartMarks.width)) + 10;
    };
    const axis = {
      font, stroke: () => colour("text:not(.ink)"), ticks: { show: false },
      grid: { stroke: () => colour(".grid", "stroke"), width: 1 },
      // Steps of 1, 2 and 5.
      incrs: Array.from({ length: 90 }, (_, i) => [1, 2, 5][i % 3] * 10 ** (Math.floor(i / 3) - 12)),
    };
    const chart = new uPlot({
      ...size(), series, bands, legend: { show: false },
      scales: { x: { time: false, range: () => [from, to] }, y: { range: chart => ends(given, chart.data ?? data[""]) } },
      padding: [() => 8 + 17 * marks().rows, () => still().right, 2, 0],
      axes: [{
        ...axis, size: 30, gap: 9, space: 84,
        values: (_, splits, __, ___, step) => {
          const [size, name] = stretch.unit(to);
          return ticks(splits, size, step).map((text, i) => (splits[i] ? `${text} ${name}` : text));
        },
      }, {
        ...axis, gap: 7, space: 30, size: () => still().left,
        values: (_, splits, __, ___, step) => (given.values ? ticks(splits, given.divisor, step) : splits.map(() => "")),
        ...(given.values ? {} : { grid: { show: false } }),
      }],
      cursor: {
        y: false, points: { show: false }, drag: { setScale: false },
        bind: { dblclick: () => () => tell() },
        sync: { key: "stretch", filters: { pub: type => type !== "mousedown" && type !== "mouseup" } },
      },
      hooks: {
        draw: [chart => {
          const shown = { marks: marks(), from, to, atFirst: atFirst(), above: phone.matches };
          chartMarks.draw(chart, { figure, given, rows, colour, ...shown });
        }],
        setCursor: [chart => point(figure, given, lines, chart)],
        setSelect: [({ select: { left, width } }) => {
          if (width > 3) tell(...stretch.within(whole, chart.posToVal(left, "x"), chart.posToVal(left + width, "x")));
          if (width) chart.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        }],
      },
    }, data[near() ? "f" : ""], figure);
    if (given.rows_left_out) {
      const more = chart.root.appendChild(document.createElement("p"));
      more.className = "below muted";
      more.textContent = `and ${given.rows_left_out.toLocaleString("en")} more rows that were on for less`;
    }
    figure.classList.add("live");
    fingers(chart.over);
    new ResizeObserver(() => chart.setSize(size())).observe(figure);
    return { chart, size, data, needed };
  };

  const charts = [...holder.querySelectorAll("figure[data-chart]")].map(make);
  document.addEventListener("stretch", ({ detail: [a, b] }) => {
    [from, to] = a === undefined ? part : [a, b];
    room = atFirst() ? 0 : Math.max(...charts.map(({ needed }) => needed()));
    for (const { chart, size, data } of charts) {
      const shown = data[near() ? "f" : ""];
      if (chart.data !== shown) chart.setData(shown, false);
      chart.setScale("x", { min: from, max: to });
      // What the legend says to be above the picture is so at first.
      chart.root.parentNode.classList.toggle("enlarged", !atFirst());
      chart.setSize(size());
    }
  });
  const dark = matchMedia("(prefers-color-scheme:dark)");
  dark.addEventListener("change", () => charts.forEach(({ chart }) => chart.redraw()));
}
