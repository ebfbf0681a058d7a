// What is drawn over a chart of uPlot, as in the still pictures: marked moments, thresholds, and rows of states.
const chartMarks = (() => {
  const font = "12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif";
  const measure = document.createElement("canvas").getContext("2d");
  measure.font = font;
  const width = text => measure.measureText(text).width;

  // Moments within a stretch: where they are, and the row of the text of each, as far as three rows have room.
  const place = (marks, [from, to], { left, right }, room) => {
    const ends = [0, 0, 0];
    let rows = 0;
    const shown = marks.filter(([time]) => from <= time && time <= to).map(([time, text]) => {
      const x = left + ((time - from) / (to - from)) * (room - left - right), long = width(text);
      const start = x + 4 + long <= room ? x + 4 : Math.max(0, x - 5 - long);
      const row = long > 0.6 * room ? -1 : ends.findIndex(end => start >= end);
      if (row >= 0) ends[row] = start + long + 12, rows = Math.max(rows, row + 1);
      return { x, start, text, row };
    });
    return { shown, rows };
  };

  // Texts are above their lines; those that would overlap the one above them are moved down, and then up again.
  const levels = (pen, chart, { left, top, right, bottom }, all) => {
    const { min, max } = chart.scales.y;
    const shown = all.filter(level => min <= level[1] && level[1] <= max).sort((a, b) => b[1] - a[1]);
    const lineAt = shown.map(level => top + chart.valToPos(level[1], "y")), textAt = [];
    lineAt.forEach((y, i) => (textAt[i] = Math.max(y - 5, i ? textAt[i - 1] + 14 : top + 9)));
    for (let i = shown.length - 1, most = bottom - 3; i >= 0; i--) most = (textAt[i] = Math.min(textAt[i], most)) - 14;
    lineAt.forEach(y => pen.stroke([7, 3, 1.5, 3], left, y, right, y));
    shown.forEach((level, i) => pen.text(level[0], right - 6, textAt[i], "right", pen.muted));
  };

  // A row of states at `y`, with its name and for how much of the time it is on; `above`: as on a phone.
  const row = (pen, { left, right }, y, name, spans, { from, to, colour, above }) => {
    const { ctx } = pen, long = right - left;
    ctx.fillStyle = colour(".row");
    ctx.fillRect(left, y, long, 12);
    // Two pixels a column, and what was so for a moment only is seen.
    const columns = Math.floor(long / 2), { on, times, share } = stretch.covered(spans, [from, to], columns);
    ctx.fillStyle = colour(".band");
    on.forEach((part, c) => {
      if (!part) return;
      ctx.globalAlpha = Math.max(0.4, Math.min(1, Math.ceil(part * 5 - 1e-9) / 5));
      ctx.fillRect(left + (c * long) / columns, y, long / columns, 12);
    });
    ctx.globalAlpha = 1;
    const much = share >= 99.95 ? "100" : share < 0.1 ? "< 0.1" : share.toFixed(share < 10 ? 1 : 0);
    const figures = times ? `${much} %, ${times.toLocaleString("en")}×` : "never", room = above ? long - 110 : left - 12;
    while (name.length > 2 && width(name) > room) name = name.replace(/.…?$/, "…");
    const [nameAt, figuresAt, baseline] = above ? [left, right, y - 4] : [left - 7, right + 8, y + 10];
    pen.text(name, nameAt, baseline, above ? "left" : "right", pen.ink);
    pen.text(figures, figuresAt, baseline, above ? "right" : "left", pen.muted);
  };

  const draw = (chart, all) => {
    const { ctx } = chart, ratio = uPlot.pxRatio, { figure, given, rows, marks, colour, atFirst, above } = all;
    const [left, top, wide, high] = ["left", "top", "width", "height"].map(key => chart.bbox[key] / ratio);
    const box = { left, top, right: left + wide, bottom: top + high };
    const paper = getComputedStyle(document.body).backgroundColor;
    const pen = {
      ctx, muted: colour("text:not(.ink)"), ink: getComputedStyle(figure.querySelector("h3")).color,
      text: (string, x, y, align, fill) => {
        ctx.setLineDash([]);
        Object.assign(ctx, { textAlign: align, lineWidth: 4, lineJoin: "round", strokeStyle: paper, fillStyle: fill });
        ctx.strokeText(string, x, y);
        ctx.fillText(string, x, y);
      },
      stroke: (dash, ...[x1, y1, x2, y2]) => {
        ctx.setLineDash(dash);
        Object.assign(ctx, { lineWidth: 1, strokeStyle: pen.muted });
        ctx.beginPath(), ctx.moveTo(x1, y1), ctx.lineTo(x2, y2), ctx.stroke();
      },
    };
    ctx.save();
    ctx.scale(ratio, ratio);
    Object.assign(ctx, { font, textBaseline: "alphabetic" });
    marks.shown.forEach(({ x, row }) => pen.stroke([2, 3], x, row < 0 ? top : row * 17 + 3, x, box.bottom));
    marks.shown.forEach(({ start, text, row }) => row >= 0 && pen.text(text, start, row * 17 + 12, "left", pen.ink));
    rows.forEach((spans, i) => row(pen, box, top + (above ? i * 33 + 17 : i * 20 + 4), given.rows[i], spans, all));
    if (given.values) levels(pen, chart, box, given.levels);
    if (given.start_up && atFirst) pen.text(given.start_up, left + 6, top + 14, "left", pen.muted);
    ctx.restore();
  };
  return { font, width, place, draw };
})();
