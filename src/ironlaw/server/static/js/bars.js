// The three terms as bars on a log axis, and the total as a band with a mark where the prediction lies.

import { $, el, set, text } from "./dom.js";
import { share, span, ticks } from "./scale.js";
import { exact, plain, split, TERM } from "./units.js";

const parts = {};

function build() {
  const rows = Object.entries(TERM).map(([key, { symbol, name }]) => {
    const row = { bar: el("div", { class: "bar" }), value: el("div", { class: "value" }), tag: el("span", { class: "tag" }, "binds") };
    row.node = el(
      "div", { class: `row ${key}` },
      el("div", { class: "name" }, el("b", {}, symbol), el("span", { class: "word" }, name), row.tag), el("div", { class: "track" }, row.bar), row.value,
    );
    parts[key] = row;
    return row.node;
  });
  parts.band = el("div", { class: "band" });
  parts.whisker = el("div", { class: "whisker" });
  parts.mark = el("div", { class: "mark" });
  parts.total = el("div", { class: "value" });
  parts.grid = el("div", { class: "grid" });
  parts.note = el("p", { class: "band-note" });
  const total = el(
    "div", { class: "row total" },
    el("div", { class: "name" }, el("b", {}, "T"), el("span", { class: "word" }, "total")), el("div", { class: "track" }, parts.band, parts.whisker, parts.mark), parts.total,
  );
  $("bars").append(parts.grid, ...rows, total);
  $("terms-note").replaceChildren(parts.note);
}

const figure = (node, value) => {
  const [number, unit] = split(value, "s");
  node.replaceChildren(number, el("span", { class: "unit" }, `\u202f${unit}`));
  set(node, { title: exact(value, "s") });
};

export function drawBars(p, room) {
  if (!parts.grid) build();
  const terms = Object.values(p.terms);
  const [low, high] = span([...terms, ...p.band, ...(p.interval ?? [])], 0.12, 0.06);
  const domain = [Math.floor(low), high]; // bars begin at a line
  const at = (value) => `${100 * Math.max(0, Math.min(1, share(value, domain)))}%`;
  for (const key of Object.keys(TERM)) {
    const { bar, value, node } = parts[key];
    bar.style.width = p.terms[key] > 0 ? at(p.terms[key]) : "0";
    figure(value, p.terms[key]);
    node.classList.toggle("binding", p.bound === key);
  }
  stretch(parts.band, p.band, at);
  stretch(parts.whisker, p.interval ?? [p.seconds, p.seconds], at);
  parts.whisker.hidden = !p.interval;
  parts.mark.style.left = at(p.seconds);
  figure(parts.total, p.seconds);
  const most = room < 480 ? 4 : 8;
  const labels = ticks(domain, most).map((power) => {
    const tick = el("span", {}, el("span", {}, plain(Number((10 ** power).toPrecision(1)), "s", 1)));
    tick.style.left = `${(100 * (power - domain[0])) / (domain[1] - domain[0])}%`;
    return tick;
  });
  parts.grid.replaceChildren(...labels);
  text(parts.note, note(p));
  set($("bars"), { "aria-label": spoken(p) });
}

function stretch(node, [low, high], at) {
  node.style.left = at(low);
  node.style.right = `calc(100% - ${at(high)})`;
}

function note(p) {
  const [low, high] = p.band.map((s) => plain(s, "s"));
  const mark = p.interval ? `; four measured runs in five should fall in ${p.interval.map((s) => plain(s, "s")).join(" to ")}` : "";
  if (low === high) return `Overlapping memory and compute makes no difference here: ${low} either way${mark}. Log axis.`;
  return `Band: ${low} with memory and compute overlapped, ${high} in sequence; the mark is the prediction${mark}. Log axis.`;
}

export function spoken(p) {
  const terms = Object.entries(TERM).map(([key, { name }]) => `${name} ${plain(p.terms[key], "s")}`);
  return `${terms.join(", ")}; ${TERM[p.bound].name} binds; total ${plain(p.seconds, "s")}.`;
}

export function termsTable(p) {
  const row = (name, value, of) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, plain(value, "s")), el("td", {}, exact(value, "s")), el("td", {}, of));
  const against = (value) => `${((100 * value) / p.seconds).toFixed(1)} %`;
  const head = ["", "time", "exact", "against T"].map((name) => el("th", { scope: "col" }, name));
  const rows = Object.entries(TERM).map(([key, { symbol, name }]) => row(`${symbol} ${name}${p.bound === key ? " (binds)" : ""}`, p.terms[key], against(p.terms[key])));
  rows.push(row("T predicted", p.seconds, "100 %"), row("T overlapped", p.band[0], against(p.band[0])), row("T in sequence", p.band[1], against(p.band[1])));
  if (p.interval) rows.push(...p.interval.map((s, i) => row(`interval, ${i ? "high" : "low"}`, s, against(s))));
  return el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows));
}
