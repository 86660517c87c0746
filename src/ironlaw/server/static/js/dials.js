// The controls: filled from the registry, kept in step with the state, each with its reason where it can't be turned.

import { $, el, set, show, text } from "./dom.js";
import { plain } from "./units.js";

const GROUPS = { cloud: "Cloud", desktop: "Desk", edge: "Edge", mobile: "Mobile", tiny: "Tiny" };
const MODES = {
  eager: "Each operator is its own kernel.",
  compiled: "Operators are fused where their data allow it.",
  graphs: "Fused, and all kernels are replayed with one launch.",
};
const DISPATCH = { queued: "The CPU runs ahead of the device.", synchronous: "The CPU waits for every kernel." };
const STEPS = {
  batch: [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256],
  tokens: [1, 16, 32, 64, 128, 256, 384, 512, 768, 1023, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768],
};
// what stands in for a precision that a machine lacks: the same width first, then wider, then narrower
const STAND_INS = ["fp16", "bf16", "fp32", "tf32", "int8", "fp8", "fp64", "int4", "fp4"];

export const find = (registry, state) => ({
  workload: registry.workloads.find((w) => w.slug === state.workload),
  machine: registry.machines.find((m) => m.slug === state.hardware),
});

const capital = (word) => word[0].toUpperCase() + word.slice(1);

export function makeDials(registry, state, turned) {
  options($("workload"), registry.workloads, (w) => capital(w.group), state.workload);
  options($("hardware"), registry.machines, (m) => GROUPS[m.context] ?? m.context, state.hardware);
  for (const key of ["workload", "hardware"]) $(key).addEventListener("input", (event) => turned(key, event.target.value));
  radios("dtype", registry.formats, turned);
  radios("mode", registry.modes, turned);
  radios("dispatch", registry.dispatches, turned);
  radios("phase", registry.phases, turned);
  radios("figures", ["measured", "datasheet"], turned);
  for (const key of ["batch", "seq", "context"]) {
    $(key).addEventListener("input", (event) => turned(key, event.target.value.trim()));
    $(`${key}-slide`).addEventListener("input", (event) => turned(key, String(stepsOf(key, find(registry, state).workload)[event.target.value])));
  }
  $("dials").addEventListener("submit", (event) => event.preventDefault());
}

function options(select, items, group, chosen) {
  const groups = new Map();
  for (const item of items) {
    const name = group(item);
    if (!groups.has(name)) groups.set(name, el("optgroup", { label: name }));
    groups.get(name).append(el("option", { value: item.slug }, item.name));
  }
  select.append(...groups.values());
  if (!items.some((item) => item.slug === chosen)) select.prepend(el("option", { value: chosen, disabled: true }, `${chosen} (unknown)`));
}

function radios(key, values, turned) {
  for (const value of values) {
    const input = el("input", { type: "radio", name: key, value, onchange: () => turned(key, value) });
    $(key).append(el("label", {}, input, el("span", {}, value)));
  }
}

function stepsOf(key, workload) {
  if (key === "batch") return STEPS.batch;
  const most = (workload?.most_tokens ?? 8192) - (key === "context" ? 1 : 0);
  return STEPS.tokens.filter((n) => n <= most && (n !== 1023 || most === 1023));
}

// The precision to use when the machine lacks the one that is set.
export function standIn(machine, dtype) {
  return machine.formats.includes(dtype) ? dtype : STAND_INS.find((fmt) => machine.formats.includes(fmt)) ?? machine.formats[0];
}

export function syncDials(registry, state) {
  const { workload, machine } = find(registry, state);
  for (const key of ["workload", "hardware"]) $(key).value = state[key];
  text($("workload-note"), workload?.params ? `${plain(workload.params, "")} parameters` : "");
  text($("hardware-note"), machine ? `${GROUPS[machine.context]}, ${plain(machine.memory, "B")} of memory` : "");
  syncPrecision(registry, state, machine);
  pick("mode", state.mode);
  text($("mode-note"), MODES[state.mode] ?? "");
  const replayed = state.mode === "graphs";
  pick("dispatch", state.dispatch, () => replayed);
  text($("dispatch-note"), replayed ? "One launch for all kernels: there is nothing to queue." : DISPATCH[state.dispatch] ?? "");
  const takes = workload?.takes ?? {};
  const decode = state.phase === "decode";
  dial("phase", "phase" in takes);
  dial("seq", "seq" in takes && !("phase" in takes && decode));
  dial("context", "context" in takes && decode);
  dial("figures", machine?.measured);
  pick("phase", state.phase);
  pick("figures", state.figures);
  for (const key of ["batch", "seq", "context"]) slide(key, state[key], stepsOf(key, workload));
}

const dial = (name, visible) => show(document.querySelector(`[data-dial=${name}]`), Boolean(visible));

function pick(key, value, barred = () => false) {
  for (const input of $(key).querySelectorAll("input")) {
    input.checked = input.value === value;
    input.disabled = barred(input.value);
  }
}

function syncPrecision(registry, state, machine) {
  const lacks = (fmt) => machine !== undefined && !machine.formats.includes(fmt);
  pick("dtype", state.dtype, lacks);
  for (const input of $("dtype").querySelectorAll("input")) {
    set(input.parentNode, { title: input.disabled ? `${machine.name} has no unit for ${input.value}` : "" });
  }
  const missing = registry.formats.filter(lacks);
  const moved = state.instead ? `${state.instead} is not on this machine, so ${state.dtype} is set. ` : "";
  text($("dtype-note"), moved + (missing.length ? `No unit for ${missing.join(", ")} here.` : ""));
}

function slide(key, value, steps) {
  const range = $(`${key}-slide`);
  const wanted = Number(value);
  const at = steps.reduce((best, step, i) => (Math.abs(Math.log(step / wanted)) < Math.abs(Math.log(steps[best] / wanted)) ? i : best), 0);
  set(range, { min: 0, max: steps.length - 1, step: 1, "aria-valuetext": value });
  if (Number(range.value) !== at) range.value = at;
  if ($(key).value !== value) $(key).value = value;
}

// An error stands beside the control that caused it.
export function blame(field, message) {
  for (const place of document.querySelectorAll(".dial .error")) {
    const here = place.id === `${field}-error`;
    show(place, here);
    text(place, here ? message : "");
    const control = $(place.id.replace("-error", ""));
    if (control.matches("input, select")) control.setAttribute("aria-invalid", String(here));
  }
  return Boolean(field && $(`${field}-error`));
}
