// Values under the pointer, beside the legend's names. The page says everything without it.
for (const figure of document.querySelectorAll("figure.chart")) {
  const tips = [...figure.querySelectorAll(".legend output")];
  const time = figure.querySelector("output.time");
  for (const plot of figure.querySelectorAll("svg.plot")) {
    const [from, to] = plot.dataset.time.split(" ").map(Number);
    const [low, high] = plot.dataset.value.split(" ").map(Number);
    const names = plot.dataset.names?.split("\n");
    const [width, height] = [plot.width.baseVal.value, plot.height.baseVal.value - 4];
    const lines = [...plot.querySelectorAll("path.line:not(.stroke)")].reverse().map(path =>
      path.getAttribute("d").split("M").filter(Boolean).map(piece => {
        const n = piece.trim().split(/\s+/).map(Number);
        return n.flatMap((_, i) => (i % 2 ? [] : [[n[i], n[i + 1]]]));
      }));
    const hair = document.createElementNS("http://www.w3.org/2000/svg", "line");
    hair.setAttribute("class", "axis crosshair");
    hair.setAttribute("y1", 0);
    hair.setAttribute("y2", height + 4);
    const clear = () => {
      hair.remove();
      tips.forEach(tip => (tip.textContent = ""));
      time.textContent = "";
    };
    const outer = plot.ownerSVGElement;
    outer.addEventListener("pointerleave", clear);
    outer.addEventListener("pointermove", event => {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(outer.getScreenCTM().inverse());
      const x = point.x - plot.x.baseVal.value;
      if (x < 0 || x > width) return clear();
      hair.setAttribute("x1", x);
      hair.setAttribute("x2", x);
      plot.append(hair);
      const ns = from + (x / width) * (to - from);
      const [unit, name] = to < 2e3 ? [1, "ns"] : to < 2e6 ? [1e3, "µs"] : to < 2e9 ? [1e6, "ms"] : [1e9, "s"];
      time.textContent = names ? "at " + names[Math.floor(ns / 1e3)] : "at " + (ns / unit).toPrecision(4) + " " + name;
      lines.forEach((pieces, index) => {
        if (!tips[index]) return;
        let text = "–";
        // Points that are apart: the one of this name.
        const slot = names ? width / names.length : 0;
        if (names) pieces = pieces.filter(piece => Math.floor(piece[0][0] / slot) === Math.floor(x / slot))
          .map(piece => [[x, piece[0][1]], [x, piece[0][1]]]);
        for (const piece of pieces) {
          const next = piece.findIndex(p => p[0] >= x);
          if (next < 0 || (next === 0 && piece[0][0] > x + 1)) continue;
          const b = piece[next], a = piece[Math.max(next - 1, 0)];
          const y = b[0] === a[0] ? b[1] : a[1] + ((b[1] - a[1]) * (x - a[0])) / (b[0] - a[0]);
          const value = high - ((y - 2) / height) * (high - low);
          // A pixel's tenth is as exact as the picture is.
          const digits = Math.max(0, Math.ceil(-Math.log10((high - low) / height / 2)));
          text = value.toFixed(Math.min(digits, 6)).replace(/^-0(\.0*)?$/, "0$1");
          break;
        }
        tips[index].textContent = text;
      });
    });
  }
}
