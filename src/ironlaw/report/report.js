// The table of operators, and the one choice that pictures and table follow.

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
const filmPlace = document.querySelector("[data-film]");
let table = null;
function show() {
  const key = choice.value;
  for (const [name, put] of stages) put(carried.details[key][name]);
  const [machine, , phase] = key.split("/");
  patch(filmPlace, motionView(carried.films[[machine, phase].filter(Boolean).join("/")], {}));
  const made = { label: "Operators", columns: operators.columns, kind: operators.kind, heads: 1, sort: operators.sort, rows: operatorRows(key) };
  table = table ? table.replace(made.rows) : grid(document.querySelector("[data-operators]"), made);
  for (const place of document.querySelectorAll("[data-shown]")) place.textContent = `${choice.selectedOptions[0].textContent}, as chosen under “Where the time goes”.`;
}
choice.addEventListener("change", show);
show();

// a link to a folded section opens it, and paper has nothing to click on
const folds = [...document.querySelectorAll("main details")];
function unfold() {
  const section = location.hash && document.getElementById(location.hash.slice(1));
  const fold = section && section.querySelector("details");
  if (fold) fold.open = true;
}
addEventListener("hashchange", unfold);
unfold();
matchMedia("print").addEventListener("change", (event) => {
  if (event.matches) for (const fold of folds) fold.open = true;
});
