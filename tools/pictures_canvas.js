// Texts that scripts draw into canvases, kept at the canvas: each with its box in pixels of the canvas, and its colour.
// Added to every page by tools/pictures.py before its own scripts run.
(() => {
  const drawn = CanvasRenderingContext2D.prototype, { fillText, clearRect } = drawn;
  drawn.clearRect = function (x, y, width, height) {
    if (x <= 0 && y <= 0 && width >= this.canvas.width && height >= this.canvas.height) this.canvas.texts = [];
    return clearRect.call(this, x, y, width, height);
  };
  drawn.fillText = function (text, x, y, ...more) {
    const size = this.measureText(text), by = this.getTransform();
    const [start, end] = [
      new DOMPoint(x - size.actualBoundingBoxLeft, y - size.actualBoundingBoxAscent).matrixTransform(by),
      new DOMPoint(x + size.actualBoundingBoxRight, y + size.actualBoundingBoxDescent).matrixTransform(by),
    ];
    (this.canvas.texts ??= []).push({ text, left: start.x, top: start.y, right: end.x, bottom: end.y, ink: this.fillStyle });
    return fillText.call(this, text, x, y, ...more);
  };
})();
