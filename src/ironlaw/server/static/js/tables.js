// Tables: the operators (sortable), the roofline in words, the figures used.

import { $, el, show, text } from "./dom.js";
import { title } from "./inspect.js";
import { exact, figure, percent, plain, plural, significant, TERM } from "./units.js";

const FIRST = 10;
const sorting = { key: "total_s", down: true, all: false };
let latest = null;

const COLUMNS = [
  ["name", "operator", (op) => title(op)],
  ["kind", "kind", (op) => op.kind],
  ["flops", "arithmetic", (op) => figure(op.flops, "FLOP")],
  ["bytes", "bytes", (op) => figure(op.bytes, "B")],
  ["intensity", "FLOP/B", (op) => (op.intensity ? significant(op.intensity) : "0")],
  ["seconds", "time each", (op) => figure(op.seconds, "s")],
  ["total_s", "together", (op) => figure(op.total_s, "s")],
  ["share", "of device", (op, p) => `${percent(op.total_s / p.busy_s)} %`],
  ["term", "binds", (op) => el("span", { class: op.term }, TERM[op.term].name)],
];

export function drawOps(p) {
  latest = p;
  const value = (op) => (sorting.key === "share" ? op.total_s : op[sorting.key] ?? 0);
  const ordered = [...p.ops].sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) * (sorting.down ? -1 : 1));
  const rows = (sorting.all ? ordered : ordered.slice(0, FIRST)).map((op) =>
    el("tr", {}, COLUMNS.map(([key, , cell], i) => el(i ? "td" : "th", i ? { class: key === "kind" || key === "term" ? "word" : "number" } : { scope: "row" }, cell(op, p)))),
  );
  if (!$("ops").tHead) $("ops").append(head(), el("tbody"));
  $("ops").tBodies[0].replaceChildren(...rows);
  for (const th of $("ops").tHead.rows[0].cells) {
    th.setAttribute("aria-sort", th.dataset.key === sorting.key ? (sorting.down ? "descending" : "ascending") : "none");
  }
  const alike = p.ops.length < p.ops.reduce((n, op) => n + op.count, 0) ? " Operators that cost the same share a row." : "";
  text($("ops-note"), `The device is busy for ${plain(p.busy_s, "s")} of ${plain(p.seconds, "s")}.${alike} Times are on the device, without launches.`);
  show($("ops-all"), p.ops.length > FIRST);
  text($("ops-all"), sorting.all ? `Show the first ${FIRST}` : `Show all ${plural(p.ops.length, "row")}`);
}

function head() {
  const cells = COLUMNS.map(([key, name], i) => {
    const sort = () => {
      sorting.down = sorting.key === key ? !sorting.down : i > 1 && key !== "term";
      sorting.key = key;
      drawOps(latest);
    };
    return el("th", { scope: "col", "data-key": key, class: i && key !== "kind" && key !== "term" ? "number" : "word" }, el("button", { type: "button", onclick: sort }, name));
  });
  $("ops-all").addEventListener("click", () => {
    sorting.all = !sorting.all;
    drawOps(latest);
  });
  return el("thead", {}, el("tr", {}, cells));
}

export function roofTable(p) {
  const names = ["operator", "FLOP", "bytes", "FLOP/B", "rate", "time", "binds"];
  const cells = (op) => [plain(op.flops, "FLOP"), plain(op.bytes, "B"), op.intensity ? significant(op.intensity) : "0", plain(op.flops / op.seconds, "FLOP/s"), plain(op.seconds, "s"), TERM[op.term].name];
  const rows = p.ops.map((op) => el("tr", {}, el("th", { scope: "row" }, title(op)), cells(op).map((cell) => el("td", {}, cell))));
  const { peak, bandwidth, ridge } = p.hardware;
  return el(
    "table", {}, el("caption", {}, `Peak ${plain(peak, "FLOP/s")} in ${p.dtype}, bandwidth ${plain(bandwidth, "B/s")}, ridge at ${plain(ridge, "FLOP/B")}. Whole run: ${significant(p.flops / p.bytes)} FLOP/B at ${plain(p.flops / p.seconds, "FLOP/s")}.`),
    el("thead", {}, el("tr", {}, names.map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, rows),
  );
}

export function drawFigures(p) {
  const rows = p.figures.map((f) =>
    el("tr", {}, el("th", { scope: "row" }, f.label), el("td", { class: "number", title: exact(f.value, f.unit) }, figure(f.value, f.unit)), el("td", {}, f.estimate ? el("span", { class: "tag" }, "estimate") : "maker’s"), el("td", { class: "source" }, linked(f.source), f.why ? el("span", { class: "quiet" }, ` ${f.why}`) : ""), el("td", { class: "number" }, f.date)),
  );
  const names = ["figure", "value", "kind", "source", "date"];
  $("figures-table").replaceChildren(el("thead", {}, el("tr", {}, names.map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, rows));
  $("sources-list").replaceChildren(...(p.calibrated ? p.sources.map((source) => el("li", {}, "Measured, in place of the rates, bandwidth and launch cost above: ", linked(source))) : []));
}

// Text with its addresses as links; nothing is fetched until one is followed.
function linked(source) {
  return source.split(/(https?:\/\/[^\s,;)]+)/).map((part, i) => (i % 2 ? el("a", { href: part, rel: "noopener noreferrer" }, new URL(part).hostname) : part));
}
