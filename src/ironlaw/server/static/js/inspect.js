// One line under the roofline about the operator that is pointed at.

import { $, el } from "./dom.js";
import { figure, percent, plural, significant, TERM } from "./units.js";

const pair = (name, value) => el("span", {}, el("span", { class: "unit" }, `${name} `), value);

export const title = (op) => (op.count > 1 ? `${op.name} and ${op.count - 1} alike` : op.name);

// `rest` is what to say about the others while none is pointed at.
export function inspect(op, p, rest) {
  const line = [
    el("b", {}, rest ? `longest of these: ${title(op)}` : title(op)),
    pair(op.kind, ""),
    pair("does", figure(op.flops, "FLOP")),
    pair("moves", figure(op.bytes, "B")),
    pair("intensity", el("span", {}, significant(op.intensity), el("span", { class: "unit" }, "\u202fFLOP/B"))),
    pair("takes", figure(op.seconds, "s")),
    op.count > 1 && pair("together", figure(op.total_s, "s")),
    el("span", { class: op.term }, `${TERM[op.term].name} binds`),
    rest && el("span", { class: "unit" }, others(p, rest)),
  ];
  $("inspect").replaceChildren(...line.filter(Boolean));
}

function others(p, { undrawn, beyond }) {
  const share = undrawn.reduce((sum, op) => sum + op.total_s, 0) / p.busy_s;
  const ops = undrawn.reduce((sum, op) => sum + op.count, 0);
  return [
    ops && `Not drawn: ${plural(ops, "operator")} without arithmetic, ${percent(share)} % of the device’s time.`,
    beyond && `${plural(beyond, "point")} at the lower edge: slower still, and too short to matter.`,
  ].filter(Boolean).join(" ");
}
