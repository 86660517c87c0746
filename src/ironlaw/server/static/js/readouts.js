// The cards, and the banner of a design that does not fit.

import { $, el, show } from "./dom.js";
import { count, figure, percent, plain, significant, split } from "./units.js";

function card(name, value, note = "", grade = "") {
  const word = { good: "good", middling: "middling", bad: "low", fail: "does not fit" }[grade];
  return el(
    "div", { class: `card ${grade}` }, el("dt", {}, name), el("dd", {}, value),
    (note || word) && el("dd", { class: "note" }, word && el("span", { class: "grade" }, word), word && note ? ", " : "", note),
  );
}

const withUnit = (number, unit, title = "") => el("span", { class: "figure", title }, number, unit && el("span", { class: "unit" }, `\u202f${unit}`));

export function drawCards(p) {
  const { throughput, memory } = p;
  const used = memory.total / memory.capacity;
  const [number, prefix] = split(throughput.per_s, "");
  const one = `${plain(throughput.energy_j, "J")} per ${throughput.unit}`;
  const would = memory.fits ? "" : "if it fitted";
  $("cards").replaceChildren(
    card("time", figure(p.seconds, "s"), would || p.label),
    card("throughput", withUnit(number, prefix, `${throughput.per_s} per s`), `${throughput.unit}s per s${would && `, ${would}`}`),
    card("utilisation", withUnit(percent(p.utilization), "%", "share of the time in which the device has work"), "", p.utilization >= 0.7 ? "good" : p.utilization >= 0.4 ? "middling" : "bad"),
    card("kernels", withUnit(count(p.kernels), "", ""), `from ${count(p.ops_asked)} operators`),
    card("memory", figure(memory.total, "B"), `${used <= 1 ? `${percent(used)} %` : `${significant(used)}×`} of ${plain(memory.capacity, "B")}`, memory.fits ? (used > 0.8 ? "middling" : "") : "fail"),
    card("energy", figure(p.energy_j, "J"), `estimate, ${one}`),
  );
}

export function drawBanner(p, turn) {
  const { memory } = p;
  const banner = $("oom");
  show(banner, !memory.fits);
  document.querySelector(".bench").classList.toggle("oom", !memory.fits);
  if (memory.fits) return banner.replaceChildren();
  const parts = [["weights", memory.weights], ["KV cache", memory.kv_cache], ["activations", memory.activations]].filter(([, bytes]) => bytes > 0);
  const ways = memory.advice.map(({ text, field, value }) => el("li", {}, value ? el("button", { type: "button", onclick: () => turn(field, value) }, `Use ${text}`) : `Take ${text}`));
  banner.replaceChildren(
    el("p", {}, el("strong", {}, "Out of memory."), ` ${p.workload.name} needs ${plain(memory.total, "B")} (${parts.map(([name, bytes]) => `${name} ${plain(bytes, "B")}`).join(", ")}); this machine has ${plain(memory.capacity, "B")}, ${significant(memory.total / memory.capacity)}× too little. `,
      "The times below are what it would take if it fitted."),
    el("p", {}, "To make it fit:"),
    el("ul", {}, ways),
  );
}
