// A moving picture at a moment. What stands still is drawn once; `at(t)` changes only what is different at that moment: the veil over what is
// still to come, what is lit, how high a level is, where a token is, what a counter says.

const AXIS = 26; // px under a film
const EDGES = 6; // px left and right of a film: its first and last tick reach over its ends

// A film may have the names of its lanes at their left.
const edges = ({ film, left = EDGES }, width) => (film ? [left, width - EDGES] : [0, width]);

// The value at a time of (time, …values) points: straight between them, or the last one before it. Null before the first.
function valueAt(points, t, steps = false) {
  if (t < points[0][0]) return null;
  let i = points.length - 1;
  while (points[i][0] > t) i -= 1;
  const [from, to] = [points[i], points[i + 1]];
  if (steps || !to || to[0] === from[0]) return from.slice(1);
  const share = (t - from[0]) / (to[0] - from[0]);
  return from.slice(1).map((value, k) => value + share * (to[k + 1] - value));
}

const timeText = (t, { unit, end }) => {
  const [factor, prefix] = prefixOf(end, unit);
  return joined(significant(t / factor, t < end / 10 ? 2 : 3), prefix + unit);
};

const counterText = ([label, points, unit, steps], t) => {
  const [value] = valueAt(points, t, steps) ?? [0];
  const bare = steps || unit.endsWith("/B"); // counts, and operations per byte: never in thousands of them
  const shown = bare ? joined(steps ? grouped(String(Math.round(value))) : significant(value), unit) : written(value, unit, unit === "%" ? 2 : 3);
  return label.includes("#") ? label.replace("#", shown) : label ? `${label} ${shown}` : shown;
};

// What has happened last.
const eventAt = ({ events }, t) => events.findLast(([at]) => at <= t + 1e-9 * (t || 1)) ?? events[0];

// `keep(name, node)` is told of every node that moves.
function sceneView(motion, width, id, words, keep) {
  const { height, film, end } = motion;
  const [left, right] = edges(motion, width);
  const x = (share) => left + share * (right - left);
  const when = (t) => x(t / end);
  const kept = (name, i) => ({ after: (node) => keep(name, i, node) });
  const whole = height + (film ? AXIS : 0);
  const hatch = `${id}-hatch`;
  // all bars of a colour are one path: a browser paints a few things again in each frame, not hundreds
  const bars = () => {
    const groups = new Map();
    const words = [];
    (motion.bars ?? []).forEach(([start, until, y, tall, colour, label, pattern], i) => {
      const [from, wide] = [when(start), Math.max(0.7, when(until) - when(start) - (until - start > end / 150 ? 0.7 : 0))];
      const box = `M${from.toFixed(2)},${y}h${wide.toFixed(2)}v${tall}h${(-wide).toFixed(2)}z`;
      const name = `${colour}${pattern ? " hatched" : ""}`;
      groups.set(name, { colour, pattern, d: `${groups.get(name)?.d ?? ""}${box}` });
      if (label && measure(label, true) < wide - 6) words.push(h("text", { key: `b${i}`, class: `il-inside c-${colour}`, x: from + wide / 2, y: y + tall / 2 + 4.5, "text-anchor": "middle" }, label));
    });
    return [...[...groups].map(([name, { colour, pattern, d }]) => h("g", { key: `b ${name}`, class: `c-${colour}` }, h("path", { class: "il-solid-bar", d }), pattern && h("path", { fill: `url(#${hatch})`, d }))), ...words];
  };
  const curve = ([points, colour, label, floor], i) => {
    const d = points.map(([t, y], k) => `${k ? "L" : "M"}${when(t).toFixed(1)},${y.toFixed(1)}`).join("");
    return h("g", { key: `c${i}`, class: `c-${colour}` }, floor === null ? null : h("path", { class: "il-flood", d: `${d}V${floor}H${when(points[0][0]).toFixed(1)}z` }), h("path", { class: "il-line", d }));
  };
  const place = ([x0, x1, y, tall, label, colour, spans, plain, cells], i) => {
    const d = cellsPath(x(x0), y, x(x1) - x(x0), tall, cells);
    return h("g", { key: `p${i}`, class: `c-${colour}` }, plain ? null : h("path", { class: "il-place", d }),
      spans.length ? h("path", { class: "il-lit", visibility: "hidden", d, ...kept("places", i) }) : null,
      label && h("text", { class: "il-name", x: x(x0), y: y - 6 }, label));
  };
  const level = ([x0, x1, y, tall, colour], i) => h("g", { key: `l${i}`, class: `c-${colour}` }, h("rect", { class: "il-place", x: x(x0), y, width: x(x1) - x(x0), height: tall, rx: 2 }),
    h("rect", { class: "il-lit", x: x(x0), y, width: x(x1) - x(x0), height: 0, ...kept("levels", i) }));
  const token = ([, colour, shape, size], i) => h("path", { key: `t${i}`, class: `il-token c-${colour}`, visibility: "hidden", d: shapePath(shape, 0, 0, size), ...kept("tokens", i) });
  const text = ([at, y, said, colour, anchor, strong], i) => h("text", { key: `w${i}`, class: `il-over c-${colour} ${strong ? "il-strong" : ""}`, x: at === 0 ? 0 : x(at), y, "text-anchor": anchor }, said);
  const counter = (made, i) => made[5] === null ? null : h("text", { key: `n${i}`, class: `il-over il-strong c-${made[6]}`, x: x(made[4]), y: made[5], "text-anchor": made[4] === 1 ? "end" : "start", ...kept("counters", i) });
  const lane = ([name, y, tall], i) => [h("rect", { key: `a${i}`, class: "il-lane", x: left, y, width: right - left, height: tall, rx: 2 }), h("text", { key: `an${i}`, class: "il-name", x: 0, y: motion.left ? y + tall / 2 + 4.5 : y - 5 }, name)];
  const size = { width, height: whole, viewBox: `0 0 ${width} ${whole}` };
  return [
    h("svg", { key: "scene", class: "il-drawing il-scene", role: "img", "aria-label": words, ...size },
      h("defs", {}, hatching(hatch)), (motion.lanes ?? []).map(lane), (motion.curves ?? []).map(curve), bars(),
      (motion.levels ?? []).map(level), (motion.places ?? []).map(place), film ? timeAxis(motion, when, right) : null, (motion.tokens ?? []).map(token)),
    // what is still to come lies under a veil, which moves by itself: nothing under it is painted again
    film ? h("div", { key: "veil", class: "il-veil", style: `width:${width}px;height:${height + 4}px`, ...kept("veil") }, nowLine(motion).map(([from, to]) => h("i", { key: from, style: `top:${from}px;height:${to - from}px` }))) : null,
    h("svg", { key: "words", class: "il-drawing il-scene il-on-top", "aria-hidden": "true", ...size }, (motion.words ?? []).map(text), (motion.counters ?? []).map(counter)),
  ];
}

// The line of the moment, from top to foot, but for the rows of words that it would run through.
const WORDS_ROOM = { over: 13, under: 5 }; // px of words over and under their own line
const SHORTEST = 6; // px of the line that can be taken for a piece of it
function nowLine({ height, left, lanes = [], words = [], counters = [] }) {
  const rows = [...(left ? [] : lanes.map(([, y]) => y - 5)), ...words.map(([, y]) => y), ...counters.map((counter) => counter[5]).filter(isNumber)];
  const pieces = [];
  let from = 0;
  for (const y of [...new Set(rows)].sort((a, b) => a - b)) {
    if (y - WORDS_ROOM.over - from >= SHORTEST) pieces.push([from, y - WORDS_ROOM.over]);
    from = Math.max(from, y + WORDS_ROOM.under);
  }
  return from < height + 4 ? [...pieces, [from, height + 4]] : pieces;
}

// A box, or one of columns and rows.
function cellsPath(x, y, width, height, [columns, rows]) {
  const gap = columns * rows > 1 ? 3 : 0;
  const [w, t] = [(width - gap * (columns - 1)) / columns, (height - gap * (rows - 1)) / rows];
  const corner = (k) => `M${(x + (k % columns) * (w + gap)).toFixed(1)},${(y + Math.floor(k / columns) * (t + gap)).toFixed(1)}`;
  return Array.from({ length: columns * rows }, (_, k) => `${corner(k)}h${w.toFixed(1)}v${t.toFixed(1)}h${(-w).toFixed(1)}z`).join("");
}

function timeAxis({ end, unit, height }, when, right) {
  const scale = makeScale({ scale: "linear", unit }, [0, end], [when(0), when(end)]);
  const anchor = ({ value }) => (value === 0 ? "start" : when(value) > right - 20 ? "end" : "middle");
  return ticksOf(scale, (tick) => measure(tick.text), 24).map((tick) => h("g", { key: `x${tick.value}` }, h("path", { class: "il-grid", d: `M${when(tick.value)},${height}v5` }),
    h("text", { class: "il-tick", x: when(tick.value), y: height + 19, "text-anchor": anchor(tick) }, tick.text)));
}

// Draws it into `root` and returns what moves it: `at(t)`, or `at(t, false)` with the counters as they are.
function stageScene(root, motion, width, id, words) {
  const nodes = { places: [], levels: [], tokens: [], counters: [] };
  root.replaceChildren();
  patch(root, sceneView(motion, width, id, words, (name, i, node) => (i === undefined ? (nodes[name] = node) : (nodes[name][i] = node))));
  const { end, film } = motion;
  const [left, right] = edges(motion, width);
  const x = (share) => left + share * (right - left);
  const last = new Map(); // node -> what it was set to
  const set = (node, name, value) => {
    const key = `${name} ${value}`;
    if (last.get(node) === key) return;
    last.set(node, key);
    if (name === "text") node.textContent = value;
    else node.setAttribute(name, value);
  };
  return (t, counts = true) => {
    if (film) nodes.veil.style.transform = `translateX(${x(t / end).toFixed(1)}px)`;
    motion.places?.forEach(([, , , , , , spans], i) => spans.length && set(nodes.places[i], "visibility", spans.some(([from, to]) => t >= from && (t < to || to >= end)) ? "visible" : "hidden"));
    motion.levels?.forEach(([, , y, tall, , points], i) => {
      const [share] = valueAt(points, t) ?? [0];
      if (last.get(nodes.levels[i]) === share) return;
      last.set(nodes.levels[i], share);
      nodes.levels[i].setAttribute("y", (y + tall * (1 - share)).toFixed(1));
      nodes.levels[i].setAttribute("height", (tall * share).toFixed(1));
    });
    motion.tokens?.forEach(([path], i) => {
      const place = t > path.at(-1)[0] ? null : valueAt(path, t);
      set(nodes.tokens[i], ...(place ? ["transform", `translate(${x(place[0]).toFixed(1)},${place[1].toFixed(1)})`] : ["visibility", "hidden"]));
      if (place) nodes.tokens[i].removeAttribute("visibility");
    });
    if (counts) motion.counters?.forEach((counter, i) => nodes.counters[i] && set(nodes.counters[i], "text", counterText(counter, t)));
  };
}
