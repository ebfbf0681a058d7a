// The charts where scripts run: uPlot draws what the still pictures show, from the same paths, and a stretch of time can
// be enlarged. All charts, the strip and "Who paused whom" show the same stretch: the event `stretch` of the document
// tells them, with start and end in nanoseconds, or with nothing for what they show at first. Print has the stills.
for (const holder of document.querySelectorAll(".charts[data-axis]")) {
  const { whole: [begin, end], part, width: units, height: steps } = JSON.parse(holder.dataset.axis);
  const phone = matchMedia("(max-width:700px)");
  const font = "12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif";
  let [from, to] = part;

  // The least that is shown: a hundred-thousandth of the run, or ten nanoseconds.
  const least = Math.min(end - begin, Math.max(10, (end - begin) / 1e5));
  let told = null;
  const tell = (...stretch) => {
    // Once a frame, however fast the pointer moves.
    if (!told) requestAnimationFrame(() => {
      document.dispatchEvent(new CustomEvent("stretch", { detail: told }));
      told = null;
    });
    told = stretch;
  };
  const enlarge = (a, b) => {
    const length = Math.min(end - begin, Math.max(least, b - a));
    a = Math.max(begin, Math.min(end - length, (a + b - length) / 2));
    tell(a, a + length);
  };

  const unit = ns => (ns < 2e3 ? [1, "ns"] : ns < 2e6 ? [1e3, "µs"] : ns < 2e9 ? [1e6, "ms"] : [1e9, "s"]);
  // A time as exact as the stretch is short.
  const when = ns => {
    const [size, name] = unit(to), digits = Math.max(0, Math.ceil(3 - Math.log10((to - from) / size)));
    return Number((ns / size).toFixed(digits)).toLocaleString("en", { maximumFractionDigits: digits }) + " " + name;
  };
  const number = value => value == null ? "–"
    : Number(value.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 9 }).replace("-", "−");
  const decimals = step => Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = (splits, size, step) => splits.map(value => {
    const digits = Math.min(9, decimals(step / size));
    return (value / size).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }).replace("-", "−");
  });

  // The pieces of a path, each a list of times and values: M, then h, v and l from where the pen is.
  const pieces = (path, [low, high]) => {
    const all = [];
    let [x, y] = [0, 0];
    for (const [, command, places] of (path?.getAttribute("d") ?? "").matchAll(/([Mhvl])([^MhvlZ]*)/g)) {
      const n = places.match(/-?\d+/g).map(Number);
      if (command === "M") all.push([]), [x, y] = n;
      else x += command === "v" ? 0 : n[0], y += command === "h" ? 0 : n.at(-1);
      all.at(-1).push([begin + (x / units) * (end - begin), high - (y / steps) * (high - low)]);
    }
    return all;
  };
  // The upper and the lower edge of an outline, which goes along the one and back along the other.
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

  // uPlot knows mice: a finger that goes sideways is one; up and down it moves the page.
  const fingers = over => {
    for (const [pointer, mouse] of [["down", "mousedown"], ["move", "mousemove"], ["up", "mouseup"], ["cancel", "mouseup"]])
      over.addEventListener("pointer" + pointer, event => {
        if (event.pointerType === "mouse") return;
        const { clientX, clientY } = event;
        (mouse === "mouseup" ? document : over).dispatchEvent(new MouseEvent(mouse, { clientX, clientY, bubbles: true }));
      });
  };

  const measure = document.createElement("canvas").getContext("2d");
  measure.font = font;

  const make = figure => {
    const given = JSON.parse(figure.dataset.chart);
    const stills = figure.querySelectorAll(":scope > svg.chart");
    const colour = (selector, property = "fill", opacity = 1) => {
      const found = typeof selector === "string" ? figure.querySelector("svg.chart " + selector) : selector;
      const rgb = found ? getComputedStyle(found)[property] : "rgb(128, 128, 128)";
      return opacity === 1 ? rgb : rgb.replace("rgb(", "rgba(").replace(")", `, ${opacity})`);
    };
    const still = () => {
      const svg = stills[phone.matches ? 1 : 0], plot = svg.querySelector(".plot"), room = svg.viewBox.baseVal.width;
      const [left, width] = plot ? [plot.x.baseVal.value, plot.width.baseVal.value] : [8, room - 30];
      // Texts of the time axis are as far beyond its ends as half of them.
      const half = measure.measureText(when(to)).width / 2 + 2;
      return { left: Math.max(left, half), right: Math.max(room - left - width, half) };
    };
    const rows = figure.querySelector("script.spans") ? JSON.parse(figure.querySelector("script.spans").textContent) : [];
    const row = () => (phone.matches ? 33 : 20);
    const size = () => ({
      width: figure.clientWidth,
      height: 40 + 17 * marks().rows + (given.values ? (phone.matches ? 190 : 220) : rows.length * row()),
    });

    // Marked moments that are shown, and the row of the text of each, as far as three rows have room.
    const marks = () => {
      const ends = [0, 0, 0], { left, right } = still(), room = figure.clientWidth;
      let rows = 0;
      const shown = given.marks.filter(([time]) => from <= time && time <= to).map(([time, text]) => {
        const x = left + ((time - from) / (to - from)) * (room - left - right), width = measure.measureText(text).width;
        const start = x + 4 + width <= room ? x + 4 : Math.max(0, x - 5 - width);
        const row = width > 0.6 * room ? -1 : ends.findIndex(end => start >= end);
        if (row >= 0) ends[row] = start + width + 12, rows = Math.max(rows, row + 1);
        return { x, start, text, row };
      });
      return { shown, rows };
    };

    // Areas and bands are two series each, with what is between them filled; lines lie on them, the first on top.
    const swatches = [...figure.querySelectorAll(".legend .swatch path:first-child")];
    const lines = swatches.filter(path => !path.classList.contains("area")).length;
    const path = (what, index) => figure.querySelector(`#c${given.number}${what}${index}`);
    const series = [{}], bands = [], curves = [], tips = [];
    const step = curve => {
      const level = curve.every(piece => piece.every(([x, y], i) => !i || x === piece[i - 1][0] || y === piece[i - 1][1]));
      return level ? uPlot.paths.stepped({ align: 1 }) : uPlot.paths.linear();
    };
    const add = (curve, options) => {
      curves.push(curve);
      return series.push({ paths: step(curve), points: { show: false }, spanGaps: false, width: 0, ...options }) - 1;
    };
    const between = (outlines, fill) => {
      const both = edges(pieces(outlines, given.values)).map(edge => add(edge, {}));
      bands.push({ series: both, fill });
    };
    if (given.values) {
      swatches.slice(lines).forEach((swatch, i) => between(path("a", i), () => colour(swatch, "fill", 0.16)));
      const opacity = Math.min(0.22, Math.max(0.03, 0.5 / lines));
      for (let i = lines - 1; i >= 0; i--) if (path("r", i)) between(path("r", i), () => colour(swatches[i], "stroke", opacity));
      for (let i = lines - 1; i >= 0; i--) {
        const dash = getComputedStyle(swatches[i]).strokeDasharray.match(/[\d.]+/g)?.map(Number);
        tips[i] = add(pieces(path("l", i), given.values), { stroke: () => colour(swatches[i], "stroke"), width: 1.8, dash });
      }
    } else series.push({}), curves.push([]);
    const times = new Set([begin, end]);
    for (const piece of curves.flat()) {
      for (const [time] of piece) times.add(time);
      times.add(piece.at(-1)[0] + 0.5);
    }
    const x = [...times].sort((a, b) => a - b);
    const data = [x, ...curves.map(curve => at(curve, x))];

    // At first the ends of the still; later from 0, or the least, to the greatest that is shown, and to thresholds near it.
    const values = () => {
      if (!given.values) return [0, 1];
      if (given.fixed || (from === part[0] && to === part[1])) return given.values;
      const [a, b] = [x.findLastIndex(time => time <= from), x.findIndex(time => time >= to)];
      let [low, high] = [0, 0];
      for (const values of data.slice(1)) for (let i = Math.max(a, 0); i <= b; i++) {
        if (values[i] != null) [low, high] = [Math.min(low, values[i]), Math.max(high, values[i])];
      }
      high = Math.max(high, ...given.levels.map(level => level[1]).filter(value => value <= 2 * high));
      return high > low ? [low, high + (high - low) * 0.05] : given.values;
    };

    const draw = chart => {
      const { ctx } = chart, ratio = uPlot.pxRatio, { rows: textRows, shown } = marks();
      const [left, top, width, height] = ["left", "top", "width", "height"].map(key => chart.bbox[key] / ratio);
      const text = (string, x, y, align, fill) => {
        Object.assign(ctx, { textAlign: align, lineWidth: 4, lineJoin: "round", strokeStyle: getComputedStyle(document.body).backgroundColor });
        ctx.strokeText(string, x, y);
        ctx.fillStyle = fill;
        ctx.fillText(string, x, y);
      };
      const stroke = (dash, ...[x1, y1, x2, y2]) => {
        Object.assign(ctx, { lineWidth: 1, strokeStyle: colour("text:not(.ink)") });
        ctx.setLineDash(dash);
        ctx.beginPath(), ctx.moveTo(x1, y1), ctx.lineTo(x2, y2), ctx.stroke();
      };
      ctx.save();
      ctx.scale(ratio, ratio);
      Object.assign(ctx, { font, textBaseline: "alphabetic" });
      const muted = colour("text:not(.ink)"), ink = getComputedStyle(figure.querySelector("h3")).color;
      for (const { x, start, text: words, row } of shown) {
        stroke([2, 3], x, row < 0 ? top : row * 17 + 3, x, top + height);
        if (row >= 0) text(words, start, row * 17 + 12, "left", ink);
      }
      rows.forEach((spans, index) => {
        const lower = top + index * row() + (phone.matches ? 17 : 4);
        ctx.fillStyle = colour(".row");
        ctx.fillRect(left, lower, width, 12);
        // As in the stills: two pixels a column, and what was so for a moment only is seen.
        const columns = Math.floor(width / 2), column = (to - from) / columns, on = new Float64Array(columns);
        let [sum, count] = [0, 0];
        for (const [start, length, part = length] of spans) {
          const [a, b] = [Math.max(start, from), Math.min(start + length, to)];
          if (b <= a) continue;
          sum += ((b - a) * part) / length, count++;
          for (let c = Math.floor((a - from) / column); c < columns && from + c * column < b; c++) {
            const both = Math.min(b, from + (c + 1) * column) - Math.max(a, from + c * column);
            on[c] += (both * part) / length / column;
          }
        }
        ctx.fillStyle = colour(".band");
        on.forEach((part, c) => {
          if (!part) return;
          ctx.globalAlpha = Math.max(0.4, Math.min(1, Math.ceil(part * 5 - 1e-9) / 5));
          ctx.fillRect(left + (c * width) / columns, lower, width / columns, 12);
        });
        ctx.globalAlpha = 1;
        const share = (sum / (to - from)) * 100, baseline = lower + (phone.matches ? -4 : 10);
        const much = share >= 99.95 ? "100" : share < 0.1 ? "< 0.1" : share.toFixed(share < 10 ? 1 : 0);
        const figures = count ? `${much} %, ${count.toLocaleString("en")}×` : "never";
        let name = given.rows[index];
        const room = phone.matches ? width - 110 : left - 12;
        while (name.length > 2 && measure.measureText(name).width > room) name = name.replace(/.…?$/, "…");
        text(name, phone.matches ? left : left - 7, baseline, phone.matches ? "left" : "right", ink);
        text(figures, left + width + (phone.matches ? 0 : 8), baseline, phone.matches ? "right" : "left", muted);
      });
      if (given.values) {
        // Texts are above their lines; those that would overlap the one above them are moved down, and then up again.
        const { min, max } = chart.scales.y;
        const levels = given.levels.filter(level => min <= level[1] && level[1] <= max).sort((a, b) => b[1] - a[1]);
        const lineAt = levels.map(level => top + chart.valToPos(level[1], "y")), textAt = [];
        lineAt.forEach((y, i) => textAt[i] = Math.max(y - 5, i ? textAt[i - 1] + 14 : top + 9));
        for (let i = levels.length - 1, most = top + height - 3; i >= 0; i--) most = (textAt[i] = Math.min(textAt[i], most)) - 14;
        lineAt.forEach(y => stroke([7, 3, 1.5, 3], left, y, left + width, y));
        levels.forEach((level, i) => text(level[0], left + width - 6, textAt[i], "right", muted));
        if (given.start_up && from === part[0] && to === part[1]) text(given.start_up, left + 6, top + 14, "left", muted);
      }
      ctx.restore();
    };

    const outputs = [...figure.querySelectorAll(".legend output")], time = figure.querySelector("output.time");
    const point = chart => {
      const outside = chart.cursor.left == null || chart.cursor.left < 0;
      const now = outside ? null : chart.posToVal(chart.cursor.left, "x");
      time.textContent = outside ? "" : "at " + when(now);
      tips.forEach((number_, i) => {
        const value = outside ? null : at([x.map((time, k) => [time, chart.data[number_][k]])], [now])[0];
        if (outputs[i]) outputs[i].textContent = outside ? "" : number(value == null ? null : value / given.divisor);
      });
    };
    // Steps of 1, 2 and 5.
    const incrs = Array.from({ length: 90 }, (_, i) => [1, 2, 5][i % 3] * 10 ** (Math.floor(i / 3) - 12));
    const axis = { font, incrs, stroke: () => colour("text:not(.ink)"), ticks: { show: false }, grid: { stroke: () => colour(".grid", "stroke"), width: 1 } };
    const chart = new uPlot({
      ...size(), series, bands, legend: { show: false },
      scales: { x: { time: false, range: () => [from, to] }, y: { range: values } },
      padding: [() => 8 + 17 * marks().rows, () => still().right, 2, 0],
      axes: [
        { ...axis, size: 30, gap: 9, space: 84, values: (_, splits, __, ___, step) => {
          const [size, name] = unit(to);
          return ticks(splits, size, step).map((text, i) => (splits[i] ? `${text} ${name}` : text));
        } },
        { ...axis, show: true, gap: 7, space: 40, size: () => still().left,
          values: (_, splits, __, ___, step) => (given.values ? ticks(splits, given.divisor, step) : splits.map(() => "")),
          ...(given.values ? {} : { grid: { show: false } }) },
      ],
      cursor: {
        y: false, points: { show: false }, drag: { setScale: false },
        bind: { dblclick: () => () => tell() },
        sync: { key: "stretch", filters: { pub: type => type !== "mousedown" && type !== "mouseup" } },
      },
      hooks: {
        draw: [draw], setCursor: [point],
        setSelect: [({ select: { left, width } }) => {
          if (width > 3) enlarge(chart.posToVal(left, "x"), chart.posToVal(left + width, "x"));
          if (width) chart.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        }],
      },
    }, data, figure);
    figure.classList.add("live");
    fingers(chart.over);
    new ResizeObserver(() => chart.setSize(size())).observe(figure);
    return { chart, size };
  };
  const charts = [...holder.querySelectorAll("figure[data-chart]")].map(make);
  const redraw = () => charts.forEach(({ chart, size }) => chart.setSize(size()));
  document.addEventListener("stretch", ({ detail: [a, b] }) => {
    [from, to] = a === undefined ? part : [a, b];
    charts.forEach(({ chart }) => chart.setScale("x", { min: from, max: to }));
    redraw();
  });
  matchMedia("(prefers-color-scheme:dark)").addEventListener("change", () => charts.forEach(({ chart }) => chart.redraw()));
}
