// Figures and tables into their places.

const carried = JSON.parse(document.getElementById("data").textContent);

// Draws a figure for the room it has, and again when that changes.
function stage(root) {
  const piece = document.createElement("div");
  piece.className = "il-piece";
  const tip = document.createElement("div");
  tip.className = "il-tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true"); // what it says is also in the name of what it belongs to
  root.append(piece, tip);
  const ui = { id: unique("report"), local: {}, tip, widths: new Map(), drawings: new WeakMap() };
  root.addEventListener("keydown", (event) => event.key === "Escape" && hideTip(ui));
  let figure = null;
  let frame = 0;
  const redraw = () => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      draw();
    });
  };
  const draw = () => figure && patch(piece, figureView(figure, { ui, spec: { dials: [] }, redraw }, 0));
  const watch = new ResizeObserver((entries) => {
    for (const entry of entries) {
      const [id, width] = [entry.target.dataset.figure, Math.floor(entry.contentRect.width)];
      if (!width || ui.widths.get(id) === width) continue;
      ui.widths.set(id, width);
      redraw();
    }
  });
  const watched = new WeakSet();
  ui.watch = (node) => {
    if (!watched.has(node)) watch.observe(node);
    watched.add(node);
  };
  typeface.then(() => {
    ui.drawings = new WeakMap();
    redraw();
  });
  return (next) => {
    figure = next;
    hideTip(ui);
    draw();
  };
}

startGlossary((id) => carried.terms[id]);
for (const root of document.querySelectorAll("[data-figure-of]")) stage(root)(carried.figures[root.dataset.figureOf]);
for (const root of document.querySelectorAll("[data-grid]")) grid(root, carried.grids[root.dataset.grid]);
