// What a lock takes beside the choice: a figure on a slider, or a curve drawn through a few points. Both are sealed with it.

const FAR = 5; // steps that Page up and Page down move a point

function estimateView(ctx) {
  const { spec, state, ui, line } = ctx;
  const { label, unit, min, max, step } = spec.estimate;
  const value = state.estimate;
  const given = value !== null && value !== undefined;
  const text = given ? joined(significant(value, 6), unit) : "move the slider";
  return h("div", { key: "estimate", class: "il-estimate" },
    rich("label", { for: `${ui.id}-estimate` }, label),
    h("div", { class: "il-slide" },
      h("input", {
        id: `${ui.id}-estimate`, type: "range", min, max, step, value: given ? value : min, "aria-valuetext": text,
        oninput: (event) => line.send({ estimate: Number(event.target.value) }),
      }),
      h("output", { for: `${ui.id}-estimate`, class: given ? "" : "il-hint" }, text)));
}

// The points stand at their places along the axis; the learner sets how high each is.
function sketchView(ctx) {
  const { spec, ui } = ctx;
  const { label, figure, points } = spec.sketch;
  const width = ui.widths.get("sketch") ?? 0;
  const heights = heightsOf(ctx);
  const drawing = { ...figure, marks: [{ type: "line", id: "mine", colour: "accent", points: points.map(({ x }, i) => [x, heights[i]]) }] };
  const plan = width > 60 && layout(drawing, width);
  return h("div", { key: "sketch", class: "il-sketch" },
    rich("p", { class: "il-sketch-ask" }, label),
    h("div", { key: "plot", class: "il-plot", "data-figure": "sketch", "data-room": ":sketch", after: (node) => ui.watch(node) },
      plan && [plotView(drawing, "sketch", width, ctx), handlesView(ctx, plan, heights)]),
    h("p", { class: "il-hint" }, "Draw across the plot, or move one point: drag it, or choose it with Tab and use the arrow keys."));
}

const heightsOf = ({ spec: { sketch }, state, ui }) => ui.local.stroke ?? state.sketch ?? sketch.points.map(() => sketch.start);

const stepped = ({ min, max, step }, height) => Math.min(max, Math.max(min, Math.round(height / step) * step));

function handlesView(ctx, plan, heights) {
  const { spec: { sketch }, line } = ctx;
  const set = (i, height) => line.send({ sketch: heights.map((old, k) => (k === i ? stepped(sketch, height) : old)) });
  const keys = (i) => (event) => {
    const by = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: FAR, PageDown: -FAR }[event.key];
    const to = by ? heights[i] + by * sketch.step : { Home: sketch.min, End: sketch.max }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    set(i, to);
  };
  const { width, height } = plan;
  return h("svg", { key: "handles", class: "il-targets il-handles", role: "group", "aria-label": "The points of your curve", width, height, viewBox: `0 0 ${width} ${height}`, onpointerdown: (event) => stroke(event, plan, ctx) },
    sketch.points.map(({ x, name }, i) => h("g", {
      key: i, class: "il-handle", tabindex: 0, role: "slider", "aria-label": name, "aria-orientation": "vertical", "aria-valuemin": sketch.min, "aria-valuemax": sketch.max,
      "aria-valuenow": heights[i], "aria-valuetext": joined(significant(heights[i], 3), sketch.unit, " "), onkeydown: keys(i),
    }, h("circle", { class: "il-grasp", cx: plan.x.at(x), cy: plan.y.at(heights[i]), r: 20 }), h("circle", { class: "il-knot", cx: plan.x.at(x), cy: plan.y.at(heights[i]), r: 8 }))));
}

// One stroke: every point that the pointer passes goes to its height. It is sent when the pointer leaves; until then only the page knows.
function stroke(event, plan, ctx) {
  const { spec: { sketch }, ui, line, redraw } = ctx;
  const root = event.currentTarget;
  const places = sketch.points.map(({ x }) => plan.x.at(x));
  const nearest = (px) => places.reduce((best, at, i) => (Math.abs(at - px) < Math.abs(places[best] - px) ? i : best), 0);
  const where = (e) => {
    const frame = root.getBoundingClientRect();
    return [e.clientX - frame.left, stepped(sketch, plan.y.invert(e.clientY - frame.top))];
  };
  event.preventDefault();
  root.setPointerCapture(event.pointerId);
  const held = event.target.closest?.(".il-handle"); // a point that is held itself moves alone
  const only = held && [...root.children].indexOf(held);
  let heights = heightsOf(ctx);
  let before = null;
  const draw = (e) => {
    const [px, height] = where(e);
    const i = only ?? nearest(px);
    const [from, to] = before === null ? [i, i] : [Math.min(before, i), Math.max(before, i)];
    heights = heights.map((old, k) => (k >= from && k <= to && k !== before ? height : k === i ? height : old));
    before = i;
    ui.local.stroke = heights;
    redraw();
  };
  const end = () => {
    for (const [name, does] of [["pointermove", draw], ["pointerup", end], ["pointercancel", end]]) root.removeEventListener(name, does);
    ui.local.stroke = null;
    line.send({ sketch: heights });
  };
  for (const [name, does] of [["pointermove", draw], ["pointerup", end], ["pointercancel", end]]) root.addEventListener(name, does);
  draw(event);
  (held || root.children[before])?.focus({ preventScroll: true });
}

// What the seal says of it.
const sealedWords = ({ spec }, sealed) => (sealed.estimate !== undefined && spec.estimate ? `, with an estimate of ${joined(significant(sealed.estimate, 6), spec.estimate.unit)}` : sealed.sketch ? ", with your curve" : "");

// Which part is still missing, in words; empty where nothing is.
function partMissing({ spec, state }) {
  if (spec.estimate && (state.estimate === null || state.estimate === undefined)) return "Move the slider to what you expect.";
  return spec.sketch && !state.sketch ? "Draw your curve." : "";
}
