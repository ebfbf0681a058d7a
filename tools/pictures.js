// What a reader of a page cannot see, by the boxes of its texts. Evaluated in the page by tools/pictures.py; gives a list
// of lines, one for each fault.
({ scrolls }) => {
  const faults = [];
  const say = (what, text) => faults.push(`${what}: '${text.trim().replace(/\s+/g, ' ').slice(0, 60)}'`);

  // Colours as Chromium computes them: rgb(), rgba() or color(srgb …).
  const colour = text => {
    if (/^#[0-9a-f]{6}$/.test(text)) return [1, 3, 5].map(at => parseInt(text.slice(at, at + 2), 16)).concat(1);
    const numbers = (text.match(/-?[\d.]+(e-?\d+)?/g) || []).map(Number);
    const scale = text.startsWith('color(') ? 255 : 1;
    return [numbers[0] * scale, numbers[1] * scale, numbers[2] * scale, numbers[3] ?? 1];
  };
  const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const luminance = rgb => {
    const [r, g, b] = rgb.map(c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [x, y] = [luminance(a), luminance(b)].sort((a, b) => b - a);
    return (x + 0.05) / (y + 0.05);
  };
  const opacity = element => {
    let all = 1;
    for (let e = element; e; e = e.parentElement) all *= Number(getComputedStyle(e).opacity);
    return all;
  };
  const dark = matchMedia('(prefers-color-scheme: dark)').matches && !matchMedia('print').matches;
  const canvas = dark ? [18, 18, 18, 1] : [255, 255, 255, 1];
  const paper = element => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(colour(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((under, top) => top[3] ? over(top, under) : under, canvas);
  };
  const visible = element => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });

  // Every line of text: its element, its box, its colour, and what it lies on.
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || element.closest('svg, script, style') || !visible(element)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.width > 1) texts.push({ element, box, text: node.data, ink: getComputedStyle(element).color, inset: box.height * 0.2 });
    }
  }
  for (const element of document.querySelectorAll('svg text')) {
    if (!element.textContent.trim() || !visible(element)) continue;
    const box = element.getBoundingClientRect();
    if (box.width > 0) texts.push({ element, box, text: element.textContent, ink: getComputedStyle(element).fill, inset: box.height * 0.2 });
  }
  // Those of canvases, which pictures_canvas.js kept: their boxes have no room above and below letters.
  for (const canvas of document.querySelectorAll('canvas')) {
    if (!visible(canvas)) continue;
    const frame = canvas.getBoundingClientRect(), scale = frame.width / canvas.width;
    for (const { text, left, top, right, bottom, ink } of canvas.texts ?? []) {
      if (!text.trim()) continue;
      const box = new DOMRect(frame.left + left * scale, frame.top + top * scale, (right - left) * scale, (bottom - top) * scale);
      texts.push({ element: canvas, box, text, ink, inset: 0 });
    }
  }

  const width = document.documentElement.clientWidth;
  if (scrolls && document.documentElement.scrollWidth > width) {
    faults.push(`scrolls sideways: ${document.documentElement.scrollWidth} of ${width} pixels`);
  }
  for (const { element, box, text, ink, inset } of texts) {
    if (scrolls && (box.right > width + 0.5 || box.left < -0.5)) say('beyond the edge of the page', text);
    for (let e = element; e && e !== document.body; e = e.parentElement) {
      const flow = e instanceof SVGElement ? (e.localName === 'svg' ? 'hidden' : 'visible') : getComputedStyle(e).overflowX;
      if (flow === 'visible') continue;
      const frame = e.getBoundingClientRect();
      const cut = box.left < frame.left - 1 || box.right > frame.right + 1
        || box.top + inset < frame.top - 1 || box.bottom - inset > frame.bottom + 1;
      if (cut) say(flow === 'auto' ? 'scrolls inside of the page' : 'clipped', text);
    }
    let under = paper(element);
    const svg = element.closest('svg');
    for (const rect of svg ? svg.querySelectorAll('rect') : []) {
      const frame = rect.getBoundingClientRect();
      const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
      const before = rect.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING;
      if (!before || x < frame.left || x > frame.right || y < frame.top || y > frame.bottom) continue;
      const style = getComputedStyle(rect);
      if (style.fill === 'none') continue;
      const fill = colour(style.fill);
      fill[3] *= Number(style.fillOpacity) * opacity(rect);
      under = over(fill, under);
    }
    const top = colour(ink);
    top[3] *= opacity(element);
    const ratio = contrast(over(top, under), under);
    if (ratio < 4.5) say(`contrast ${ratio.toFixed(2)}`, text);
  }

  // Boxes without the room above and below letters, by their upper edges.
  const boxes = texts.map(({ element, box, text, inset }) => ({
    element, text, left: box.left + 1, right: box.right - 1, top: box.top + inset, bottom: box.bottom - inset,
  })).sort((a, b) => a.top - b.top);
  boxes.forEach((a, place) => {
    for (let next = place + 1; next < boxes.length && boxes[next].top < a.bottom; next++) {
      const b = boxes[next];
      if (a.left < b.right && b.left < a.right) say('overlaps', `${a.text.trim().slice(0, 28)} | ${b.text.trim().slice(0, 28)}`);
    }
  });
  return [...new Set(faults)];
}
