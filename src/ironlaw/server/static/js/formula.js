// T = D/BW + O/R + L with the current figures in it.

import { $, el } from "./dom.js";
import { figure, percent, plural, TERM } from "./units.js";

const line = (term, ...rest) => el("p", { class: term }, el("b", {}, TERM[term].symbol), " = ", ...rest);
const quiet = (text) => el("span", { class: "quiet" }, text);

// Amount over the rate that is reached; beside the rated one where they differ.
function quotient(amount, amountUnit, seconds, rated, rateUnit) {
  const reached = amount / seconds;
  const same = Math.abs(reached / rated - 1) < 0.005;
  return [
    figure(amount, amountUnit), " ÷ ", figure(same ? rated : reached, rateUnit), " = ", el("strong", {}, figure(seconds, "s")),
    same ? "" : quiet(` (the rate reached on average, ${percent(reached / rated)} % of ${figure(rated, rateUnit).textContent})`),
  ];
}

function overhead(p) {
  const each = p.launch_s / p.kernels;
  if (p.mode === "graphs") return quiet(` (one launch for all ${plural(p.kernels, "kernel")}${p.calibrated ? ", and the kernels’ own fixed cost" : ""})`);
  const launches = `${plural(p.kernels, "launch").replace("launchs", "launches")} of ${figure(each, "s").textContent} are ${figure(p.launch_s, "s").textContent}`;
  if (p.dispatch === "synchronous") return quiet(` (${launches}, and the device waits for each${p.calibrated ? "; the rest is the kernels’ own fixed cost" : ""})`);
  return quiet(` (${launches} on the CPU; L is the part that no kernel covers${p.calibrated ? ", and the kernels’ own fixed cost" : ""})`);
}

export function drawFormula(p) {
  const { memory, compute, overhead: rest } = p.terms;
  const sum = memory + compute + rest;
  const term = (name, value) => el("span", { class: name }, figure(value, "s"));
  $("formula").replaceChildren(
    line("memory", ...quotient(p.bytes, "B", memory, p.hardware.bandwidth, "B/s")),
    line("compute", ...quotient(p.flops, "FLOP", compute, p.hardware.peak, "FLOP/s")),
    line("overhead", el("strong", {}, figure(rest, "s")), overhead(p)),
    el("p", { class: "sum" }, el("b", {}, "T"), " ≤ ", term("memory", memory), " + ", term("compute", compute), " + ", term("overhead", rest), " = ", el("strong", {}, figure(sum, "s")),
      quiet(" one after the other; predicted "), el("strong", {}, figure(p.seconds, "s")), quiet(sum / p.seconds > 1.005 ? ", because they overlap" : "")),
  );
}
