// A moment of the network: which links are stopped, and who stops them. The still picture has the whole run.
for (const moment of document.querySelectorAll(".moment")) {
  const figure = moment.closest("figure");
  const range = moment.querySelector("input"), output = moment.querySelector("output");
  const spread = document.querySelector("figure.spread");
  const spans = JSON.parse(spread.querySelector("script.spans").textContent);
  const names = [...spread.querySelector("svg").querySelectorAll("text[data-row]")].map(text => text.dataset.row);
  const [from, to] = [Number(moment.dataset.from), Number(moment.dataset.to)];
  const step = (to - from) / range.max;
  const [size, unit] = stretch.unit(to);
  // The part of an interval for which a row was stopped.
  const part = (row, a, b) => {
    let stopped = 0;
    for (const [start, length, paused = length] of spans[row]) {
      if (start >= b) break;
      const both = Math.min(b, start + length) - Math.max(a, start);
      if (both > 0) stopped += (both * Math.min(1, paused / length)) / (b - a);
    }
    return Math.min(1, stopped);
  };
  const show = () => {
    const at = Number(range.value);
    figure.classList.toggle("at-once", at > 0);
    figure.querySelectorAll(".now").forEach(path => path.remove());
    if (!at) return (output.textContent = "the whole run");
    const [a, b] = [from + (at - 1) * step, from + at * step];
    const parts = spans.map((_, row) => part(row, a, b));
    for (const wire of figure.querySelectorAll(".wire[data-rows]")) {
      const most = Math.max(...wire.dataset.rows.split(" ").map(row => parts[row]));
      if (!most) continue;
      const path = wire.cloneNode(true);
      path.setAttribute("class", "stopped now");
      path.setAttribute("stroke-width", 2.5 + 6.5 * most);
      wire.parentNode.nextElementSibling.append(path);
    }
    const stopped = names.filter((_, row) => parts[row] > 0), more = stopped.length - 4;
    const who = stopped.slice(0, 4).join(", ") + (more > 0 ? ` and ${more} more` : "");
    output.textContent = `${(a / size).toPrecision(4)} to ${(b / size).toPrecision(4)} ${unit}: ${who || "nobody"}`;
  };
  range.addEventListener("input", show);
  moment.hidden = false;
  show();
}
