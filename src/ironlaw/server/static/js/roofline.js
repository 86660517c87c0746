// The roofline: every operator as a point, log against log. Size is time; shape and colour are the term that binds it.

import { $, el, svg, set } from "./dom.js";
import { inspect } from "./inspect.js";
import { share, span, ticks } from "./scale.js";
import { plain, significant, split, TERM } from "./units.js";

const MARGIN = { top: 26, right: 14, bottom: 44, left: 62 };
const HEADROOM = 30; // px over the roof, for its label
const REACH = 28; // px within which a pointer takes hold of a point
let frame = null;
let points = [];

function build() {
  const back = svg("g");
  const front = svg("g", { role: "group", "aria-label": "Operators, by arithmetic per byte. Arrow keys go from one to the next." });
  const root = svg("svg", { role: "group", "aria-labelledby": "roof-title" }, svg("defs", {}, svg("clipPath", { id: "plot" }, svg("rect"))), back, front);
  root.addEventListener("pointermove", (event) => point(nearest(event)));
  root.addEventListener("pointerdown", (event) => point(nearest(event)));
  root.addEventListener("pointerleave", () => point(null));
  front.addEventListener("keydown", step);
  front.addEventListener("focusin", (event) => point(points.find((q) => q.node === event.target) ?? null));
  front.addEventListener("focusout", () => point(null));
  const legend = el("p", { class: "legend" });
  legend.append(
    ...Object.entries(TERM).map(([key, { name }]) => el("span", { class: key }, mark(key), `${name} binds`)),
    el("span", {}, mark("run"), "the whole run"), el("span", {}, "size: time"),
  );
  $("roofline").append(root, legend);
  frame = { root, back, front, clip: root.querySelector("rect") };
}

function shape(term, x, y, r) {
  if (term === "compute") return `M${x - r * 0.89},${y - r * 0.89}h${r * 1.78}v${r * 1.78}h${-r * 1.78}z`;
  if (term === "overhead") return `M${x},${y - r * 1.25}l${r * 1.17},${r * 2}h${-r * 2.34}z`;
  if (term === "run") return `M${x},${y - r}l${r},${r}l${-r},${r}l${-r},${-r}z`;
  return `M${x - r},${y}a${r},${r} 0 1 0 ${2 * r},0a${r},${r} 0 1 0 ${-2 * r},0z`;
}

const mark = (term) => svg("svg", { viewBox: "0 0 14 14", width: 14, height: 14, "aria-hidden": "true" }, svg("path", { class: `point ${term}`, d: shape(term, 7, 7, 5) }));

export function drawRoofline(p, room) {
  if (!frame) build();
  const width = Math.max(room, 240);
  const height = Math.round(Math.min(380, Math.max(280, width * 0.5)));
  const drawn = p.ops.filter((op) => op.flops > 0 && op.intensity > 0 && op.seconds > 0);
  const run = { intensity: p.flops / p.bytes, rate: p.flops / p.seconds };
  const { peak, ridge } = p.hardware;
  const xs = span([ridge, 4 * ridge, run.intensity, ...drawn.map((op) => op.intensity)], 0.25, 0.3); // room to name both sides
  // a trifle must not stretch the axis: far under the roof, and a thousandth of the time or less
  const counting = drawn.filter((op) => op.flops / op.seconds > peak / 1e5 || op.total_s > 1e-3 * p.busy_s);
  const [low, high] = span([peak, run.rate, ...counting.map((op) => op.flops / op.seconds)], 0, 0);
  const decade = (height - MARGIN.top - MARGIN.bottom - HEADROOM - 14) / Math.max(high - low, 1);
  const ys = [high - (height - MARGIN.top - MARGIN.bottom - HEADROOM) / decade, high + HEADROOM / decade];
  const x = (value) => MARGIN.left + share(value, xs) * (width - MARGIN.left - MARGIN.right);
  const y = (value) => height - MARGIN.bottom - share(value, ys) * (height - MARGIN.top - MARGIN.bottom);
  const box = { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom };
  set(frame.root, { viewBox: `0 0 ${width} ${height}`, width, height });
  set(frame.clip, { x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top });
  place(p, drawn, x, y, box);
  frame.back.replaceChildren(...axes(xs, ys, x, y, box), ...roof(p, xs, x, y, box), ...whole(p, run, x, y, box));
  point(null);
}

function axes(xs, ys, x, y, box) {
  const out = [];
  for (const power of ticks(xs, (box.right - box.left) / 60)) {
    const at = x(10 ** power);
    out.push(svg("path", { class: "gridline", d: `M${at},${box.top}V${box.bottom}` }));
    out.push(svg("text", { x: at, y: box.bottom + 16, "text-anchor": "middle" }, 10 ** power < 1 ? String(significant(10 ** power)) : plain(10 ** power, "").replace("\u202f", "")));
  }
  for (const power of ticks(ys, (box.bottom - box.top) / 32)) {
    const at = y(10 ** power);
    const [number, prefix] = split(10 ** power, "");
    out.push(svg("path", { class: "gridline", d: `M${box.left},${at}H${box.right}` }));
    out.push(svg("text", { x: box.left - 6, y: at + 4, "text-anchor": "end" }, `${number}\u202f${prefix}`));
  }
  out.push(svg("text", { class: "axis", x: box.right, y: box.bottom + 36, "text-anchor": "end" }, "arithmetic intensity, FLOP per byte"));
  out.push(svg("text", { class: "axis", x: 4, y: 14 }, "FLOP/s"));
  return out;
}

function roof(p, xs, x, y, box) {
  const { peak, bandwidth, ridge } = p.hardware;
  const left = 10 ** xs[0];
  const at = x(ridge);
  const line = `M${x(left)},${y(left * bandwidth)}L${at},${y(peak)}H${box.right}`;
  const angle = (Math.atan2(y(peak) - y(left * bandwidth), at - x(left)) * 180) / Math.PI;
  const foot = Math.max(x(left), at - ((box.bottom - y(peak)) / (y(left * bandwidth) - y(peak))) * (at - x(left)));
  const middle = foot + (at - foot) * 0.4;
  const slope = y(peak) + ((at - middle) / (at - x(left))) * (y(left * bandwidth) - y(peak));
  const narrow = box.right - box.left < 420;
  const out = [
    svg("path", { class: "side memory", d: `M${box.left},${box.top}H${at}V${box.bottom}H${box.left}z` }),
    svg("path", { class: "side compute", d: `M${at},${box.top}H${box.right}V${box.bottom}H${at}z` }),
    svg("path", { class: "ridge", d: `M${at},${box.top}V${box.bottom}` }),
    svg("path", { class: "roofline", d: line, "clip-path": "url(#plot)" }),
    svg("text", { class: "over", x: box.right - 4, y: y(peak) - 15, "text-anchor": "end" }, `${narrow ? "" : "peak "}${plain(peak, "FLOP/s")} ${p.dtype}`),
    svg("text", { class: "over", transform: `translate(${middle},${slope - 7}) rotate(${angle})`, "text-anchor": "middle" }, plain(bandwidth, "B/s")),
  ];
  const label = narrow ? 44 : 100;
  if (at - box.left > label) out.push(svg("text", { class: "regime memory", x: at - 8, y: box.top - 8, "text-anchor": "end" }, narrow ? "memory" : "memory-bound"));
  if (box.right - at > label) out.push(svg("text", { class: "regime compute", x: at + 8, y: box.top - 8 }, narrow ? "compute" : "compute-bound"));
  const right = at > box.right - 120;
  out.push(svg("text", { class: "over", x: at + (right ? -6 : 6), y: box.bottom - 7, "text-anchor": right ? "end" : "start" }, `ridge ${plain(ridge, "FLOP/B")}`));
  return out;
}

function whole(p, run, x, y, box) {
  const under = Math.min(p.hardware.peak, p.hardware.bandwidth * run.intensity);
  const [px, py] = [x(run.intensity), y(run.rate)];
  const gap = under / run.rate;
  const says = gap > 1.15 ? `whole run, ${significant(gap, 2)}× under${box.right - box.left < 420 ? "" : " the roof"}` : "whole run";
  const label = roomiest(px, py, says.length * 6.6, box, x(p.hardware.ridge));
  return [
    svg("path", { class: "drop", d: `M${px},${y(under)}V${py}` }),
    svg("path", { class: "point run", d: shape("run", px, py, 7) }),
    svg("text", { class: "over", ...label }, says),
  ];
}

// Right of the mark, left, under or over it: where the fewest points lie under the words.
function roomiest(px, py, width, box, ridge) {
  const sides = [[12, 4, "start", 0], [-12, 4, "end", -width], [0, 22, "middle", -width / 2], [0, -14, "middle", -width / 2]];
  const cost = ([dx, dy, , from]) => {
    const [left, middle] = [px + dx + from, py + dy - 4];
    const out = left < box.left || left + width > box.right || middle > box.bottom - 8 || middle < box.top + 8;
    const named = middle > box.bottom - 26 && left < ridge + 120 && left + width > ridge - 120; // the ridge's own label
    return (out ? 100 : 0) + (named ? 50 : 0) + points.filter((q) => q.x + q.r > left && q.x - q.r < left + width && Math.abs(q.y - middle) < q.r + 8).length;
  };
  const [dx, dy, anchor] = sides.reduce((best, side) => (cost(side) < cost(best) ? side : best));
  return { x: px + dx, y: py + dy, "text-anchor": anchor };
}

function place(p, drawn, x, y, box) {
  const longest = Math.max(...drawn.map((op) => op.total_s));
  const focused = document.activeElement?.dataset?.op;
  points = drawn.map((op) => {
    const [px, py, r] = [x(op.intensity), y(op.flops / op.seconds), 3.5 + 9 * Math.sqrt(op.total_s / longest)];
    const beyond = py > box.bottom;
    const node = svg("path", {
      class: `point ${op.term}${beyond ? " beyond" : ""}`, d: shape(op.term, px, Math.min(py, box.bottom), r), tabindex: -1, role: "img", "data-op": op.name,
      "aria-label": `${op.name}${op.count > 1 ? ` and ${op.count - 1} alike` : ""}: ${plain(op.flops, "FLOP")}, ${plain(op.bytes, "B")}, ${significant(op.intensity)} FLOP per byte, ${plain(op.seconds, "s")} each; ${TERM[op.term].name} binds`,
    });
    return { op, node, x: px, y: Math.min(py, box.bottom), r, beyond };
  });
  frame.front.replaceChildren(...points.map((q) => q.node), (frame.ring = svg("circle", { class: "ring", r: 0 })));
  points.sort((a, b) => a.op.intensity - b.op.intensity);
  frame.left = p.ops.filter((op) => !drawn.includes(op));
  frame.p = p;
  const kept = points.find((q) => q.op.name === focused);
  (kept ?? points[0])?.node.setAttribute("tabindex", 0);
  kept?.node.focus({ preventScroll: true });
}

function nearest(event) {
  const box = frame.root.getBoundingClientRect();
  const [px, py] = [event.clientX - box.left, event.clientY - box.top];
  const far = (q) => Math.hypot(q.x - px, q.y - py) - q.r;
  const best = points.reduce((a, q) => (a === null || far(q) < far(a) ? q : a), null);
  return best && far(best) < REACH ? best : null;
}

function step(event) {
  const at = points.findIndex((q) => q.node === document.activeElement);
  const to = { ArrowRight: at + 1, ArrowUp: at + 1, ArrowLeft: at - 1, ArrowDown: at - 1, Home: 0, End: points.length - 1 }[event.key];
  if (to === undefined || at < 0) return;
  event.preventDefault();
  const target = points[Math.max(0, Math.min(points.length - 1, to))];
  points[at].node.setAttribute("tabindex", -1);
  target.node.setAttribute("tabindex", 0);
  target.node.focus();
}

// Marks a point and tells about it; none: the one that takes longest.
function point(wanted) {
  const held = wanted ?? points.find((q) => q.node === document.activeElement) ?? null;
  const q = held ?? points.reduce((a, b) => (a === null || b.op.total_s > a.op.total_s ? b : a), null);
  if (!q) return;
  set(frame.ring, { cx: q.x, cy: q.y, r: held ? q.r + 4 : 0 });
  inspect(q.op, frame.p, held ? null : { undrawn: frame.left, beyond: points.filter((other) => other.beyond).length });
}
