// The strip of the whole run: the part that the charts show can be moved by its ends and as a whole, with a pointer and
// with keys, and chosen anew beside it. Says which stretch all charts show, and gives back what they showed at first.
for (const holder of document.querySelectorAll(".charts[data-axis]")) {
  const { whole, part } = JSON.parse(holder.dataset.axis), [begin, end] = whole, { tell } = stretch;
  const note = holder.parentNode.querySelector(".window"), back = note.querySelector("button");
  const caption = document.querySelector(".strip .stretch"), words = caption?.textContent;
  const least = stretch.least(whole);
  let [from, to] = part;
  const strips = [];
  const when = ns => stretch.when(ns, [from, to]);
  // Moves one end, or both, to times within the run; the ends keep their order.
  const move = (what, a, b) => {
    if (what === "both") {
      a = Math.max(begin, Math.min(end - (b - a), a));
      tell(a, a + to - from);
    } else if (what === "from") tell(Math.max(begin, Math.min(a, to - least)), to);
    else tell(from, Math.min(end, Math.max(b, from + least)));
  };

  for (const svg of document.querySelectorAll(".strip svg.chart")) {
    const [left, right, height] = svg.dataset.place.split(" ").map(Number), chosen = svg.querySelector(".chosen");
    const x = time => left + ((time - begin) / (end - begin)) * (right - left);
    const time = x => begin + ((x - left) / (right - left)) * (end - begin);
    const make = (what, label) => {
      const rect = svg.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "rect"));
      for (const [key, value] of Object.entries({ class: `grip ${what}`, y: 0, height, tabindex: 0, role: "slider", "aria-label": label }))
        rect.setAttribute(key, value);
      rect.addEventListener("keydown", event => {
        const far = (to - from) / (event.shiftKey ? 2 : 10), length = to - from;
        const by = { ArrowLeft: -far, ArrowDown: -far, ArrowRight: far, ArrowUp: far }[event.key];
        if (event.key === "Escape") tell();
        else if (event.key === "Home") move(what, begin, begin + length);
        else if (event.key === "End") move(what, end - length, end);
        else if (by) move(what, from + by, to + by);
        else return;
        event.preventDefault();
      });
      return rect;
    };
    const grips = { both: make("both", "Part that is shown"), from: make("from", "Its start"), to: make("to", "Its end") };
    strips.push(() => {
      const [a, b] = [x(from), Math.max(x(to), x(from) + 1)], reach = Math.min(10, Math.max(2, (b - a) / 4));
      const place = (rect, start, width) => (rect.setAttribute("x", start), rect.setAttribute("width", width));
      place(chosen, a, b - a);
      place(grips.both, a, b - a);
      // Wide enough for a finger, mostly outside.
      place(grips.from, a - 14, 14 + reach);
      place(grips.to, b - reach, 14 + reach);
      for (const [what, rect] of Object.entries(grips)) {
        rect.setAttribute("aria-valuemin", begin);
        rect.setAttribute("aria-valuemax", end);
        rect.setAttribute("aria-valuenow", what === "to" ? to : from);
        rect.setAttribute("aria-valuetext", what === "both" ? `${when(from)} to ${when(to)}` : when(what === "to" ? to : from));
      }
    });

    const at = event => {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      return Math.max(begin, Math.min(end, time(point.x)));
    };
    let held = null;
    svg.addEventListener("pointerdown", event => {
      if (event.button) return;
      const what = Object.keys(grips).find(key => grips[key] === event.target) ?? "new";
      held = { what, at: at(event), from, to };
      svg.setPointerCapture(event.pointerId);
      if (what !== "new") grips[what].focus({ preventScroll: true });
      event.preventDefault();
    });
    svg.addEventListener("pointermove", event => {
      if (!held) return;
      const now = at(event), by = now - held.at;
      if (held.what !== "new") return move(held.what, held.from + by, held.to + by);
      // Not by a mere click.
      const [a, b] = [held.at, now].sort((p, q) => p - q);
      if (x(b) - x(a) > 3) tell(a, Math.max(b, a + least));
    });
    for (const done of ["pointerup", "pointercancel"]) svg.addEventListener(done, () => (held = null));
    svg.addEventListener("dblclick", () => tell());
  }

  const show = () => {
    const first = from === part[0] && to === part[1];
    strips.forEach(draw => draw());
    note.querySelector("output").textContent = first ? "" : `${when(from)} to ${when(to)}`;
    back.hidden = first;
    if (caption) caption.textContent = first ? words : `${when(from)} to ${when(to)}`;
  };
  document.addEventListener("stretch", ({ detail: [a, b] }) => {
    [from, to] = a === undefined ? part : [a, b];
    show();
  });
  back.addEventListener("click", () => tell());
  note.hidden = false;
  for (const hint of document.querySelectorAll(".strip .hint")) hint.hidden = false;
  show();
}
