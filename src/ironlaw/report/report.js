// The page: figures into their places, the table of operators, and the one choice that they follow.

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
  const ui = { id: unique("report"), local: {}, tip, widths: new Map(), drawn: new Map() };
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
    ui.drawn.clear();
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

const { operators } = carried;
// what an op is, beside what it costs on the chosen machine
function operatorRows(key) {
  const { graph, busy, rows } = operators.costs[key];
  return operators.graphs[graph].map(([name, kind, flops, bytes], i) => {
    const [seconds, data, compute, floor, launch, kernels, term] = rows[i];
    return [i + 1, name, seconds, busy ? (100 * seconds) / busy : 0, kind, data, compute, floor, launch, kernels, flops, bytes, bytes ? flops / bytes : null, term];
  });
}

const stages = [...document.querySelectorAll("[data-detail]")].map((root) => [root.dataset.detail, stage(root)]);
const choice = document.getElementById("shown");
let table = null;
function show() {
  const key = choice.value;
  for (const [name, put] of stages) put(carried.details[key][name]);
  const made = { label: "Operators", columns: operators.columns, kind: operators.kind, heads: 1, sort: operators.sort, rows: operatorRows(key) };
  table = table ? table.replace(made.rows) : grid(document.querySelector("[data-operators]"), made);
  for (const place of document.querySelectorAll("[data-shown]")) place.textContent = `${choice.selectedOptions[0].textContent}, as chosen under “Where the time goes”.`;
}
choice.addEventListener("change", show);
show();
