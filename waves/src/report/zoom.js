// The rows of "Who paused whom", enlarged: drag over a stretch of time, double click for what was there at first. The page says
// everything without it, but not as finely. The charts show the same stretch.
for (const figure of document.querySelectorAll("figure.spread")) {
  const rows = JSON.parse(figure.querySelector("script.spans").textContent);
  const end = Number(figure.dataset.duration), part = figure.dataset.part.split(" ").map(Number);
  const output = figure.querySelector("output.time");
  const make = (name, attributes, parent) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    return parent.appendChild(made);
  };
  const { tell, unit } = stretch;
  const pictures = [...figure.querySelectorAll("svg.chart")];
  let [from, to] = part;
  figure.querySelector(".drag").hidden = false;
  const draw = () => {
    for (const svg of pictures) {
      const [left, right, bar] = svg.dataset.place.split(" ").map(Number);
      const x = at => left + ((at - from) / (to - from)) * (right - left);
      [...svg.querySelectorAll("g.bars")].forEach((group, row) => {
        // Two pixels a column, and six heights, as in the picture without a script.
        const columns = Math.floor((right - left) / 2), stopped = stretch.covered(rows[row], [from, to], columns).on;
        group.replaceChildren();
        const base = Number(group.dataset.base), step = (right - left) / columns;
        let open = null;
        stopped.forEach((part, c) => {
          const height = (Math.min(6, Math.ceil(part * 6 - 1e-9)) / 6) * bar;
          if (open && open.height === height) return open.rect.setAttribute("width", (c + 1) * step - open.start);
          open = height > 0 ? { height, start: c * step } : null;
          if (open) open.rect = make("rect", { class: "band", x: left + c * step, y: base - height, width: step, height }, group);
        });
      });
      for (const arrow of svg.querySelectorAll("[data-at]")) {
        const at = Number(arrow.dataset.at);
        arrow.style.display = at < from || at > to ? "none" : "";
        arrow.setAttribute("transform", `translate(${x(at) - Number(arrow.dataset.x)} 0)`);
      }
      const ticks = svg.querySelector("g.ticks"), foot = Number(ticks.dataset.foot);
      ticks.replaceChildren();
      const [size, name] = unit(to), raw = (to - from) / size / (right - left < 500 ? 4 : 8);
      const power = 10 ** Math.floor(Math.log10(raw)), nice = [1, 2, 5, 10].find(f => f * power >= raw * 0.999) * power;
      for (let i = Math.ceil(from / size / nice - 1e-9); i * nice * size <= to * (1 + 1e-12); i++) {
        const place = x(i * nice * size);
        make("line", { class: "grid", x1: place, x2: place, y1: 0, y2: foot }, ticks);
        const text = make("text", { x: place, y: foot + 17, "text-anchor": "middle" }, ticks);
        text.textContent = (i * nice).toFixed(Math.max(0, -Math.floor(Math.log10(nice) + 1e-9))) + (i ? " " + name : "");
        // Within the picture, also at its ends.
        const half = text.getComputedTextLength() / 2;
        text.setAttribute("x", Math.max(half, Math.min(svg.viewBox.baseVal.width - half, place)));
      }
    }
    const [size, name] = unit(to);
    output.textContent = from === part[0] && to === part[1] ? "" : `${(from / size).toPrecision(6)} to ${(to / size).toPrecision(6)} ${name}`;
  };
  const show = (a, b) => tell(...stretch.within([0, end], a, b));
  document.addEventListener("stretch", ({ detail: [a, b] }) => {
    [from, to] = a === undefined ? part : [a, b];
    draw();
  });
  for (const svg of pictures) {
    const [left, right] = svg.dataset.place.split(" ").map(Number);
    const at = event => {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      return Math.max(left, Math.min(right, point.x));
    };
    const time = x => from + ((x - left) / (right - left)) * (to - from);
    let start = null, mark = null;
    const stop = () => {
      mark?.remove();
      start = mark = null;
    };
    svg.addEventListener("pointerdown", event => {
      if (event.button) return;
      start = at(event);
      mark = make("rect", { class: "chosen", x: start, y: 0, width: 0, height: svg.querySelector("g.ticks").dataset.foot }, svg);
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", event => {
      if (start === null) return;
      mark.setAttribute("x", Math.min(start, at(event)));
      mark.setAttribute("width", Math.abs(at(event) - start));
    });
    svg.addEventListener("pointercancel", stop);
    svg.addEventListener("pointerup", event => {
      if (start === null) return;
      const [a, b] = [start, at(event)].sort((p, q) => p - q);
      stop();
      if (b - a > 3) show(time(a), time(b));
    });
    svg.addEventListener("dblclick", () => tell());
    svg.addEventListener("wheel", event => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const middle = time(at(event)), factor = event.deltaY < 0 ? 0.7 : 1 / 0.7;
      show(middle - (middle - from) * factor, middle + (to - middle) * factor);
    }, { passive: false });
  }
}
