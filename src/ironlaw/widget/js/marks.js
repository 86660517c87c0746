// The marks. Each gives shapes for the picture, and a target for pointer and keyboard where it has something to tell.

const shapePath = (shape, x, y, r) => {
  if (shape === "square") return `M${x - r * 0.89},${y - r * 0.89}h${r * 1.78}v${r * 1.78}h${-r * 1.78}z`;
  if (shape === "triangle") return `M${x},${y - r * 1.25}l${r * 1.17},${r * 2}h${-r * 2.34}z`;
  if (shape === "diamond") return `M${x},${y - r * 1.2}l${r * 1.2},${r * 1.2}l${-r * 1.2},${r * 1.2}l${-r * 1.2},${-r * 1.2}z`;
  if (shape === "cross") return `M${x - r},${y - r}l${2 * r},${2 * r}M${x - r},${y + r}l${2 * r},${-2 * r}`;
  return `M${x - r},${y}a${r},${r} 0 1 0 ${2 * r},0a${r},${r} 0 1 0 ${-2 * r},0z`;
};

const classOf = (mark, plan, kind) => [
  `il-${kind}`, `c-${mark.colour ?? "ink"}`, mark.role && `il-${mark.role}`, mark.solid && "il-solid", mark.deep && "il-deep", mark.emphasis && "il-emphasis",
  plan.dimmed && !mark.emphasis && "il-dim", mark.fail && "c-fail",
].filter(Boolean).join(" ");

const rulesOf = (plan) => plan.figure.marks.filter((mark) => mark.type === "rule" && isNumber(mark.x)).map((mark) => plan.x.at(mark.x));

// Words over a bar end at the right, or left of an upright rule that would run through them; the bar's name stands at the left.
function endClear(right, width, plan) {
  const end = Math.min(right, ...rulesOf(plan).filter((at) => at > right - width - 4 && at < right + 4).map((at) => at - 7));
  return end - width > plan.width * 0.4 ? end : right;
}

// One column for the words over all bars: where one row's must keep off a rule, so do the others'.
function columnEnd(plan) {
  plan.column ??= Math.min(...plan.figure.marks.filter(inRow).map((mark) => endClear(plan.width - 2, barWidth(mark), plan)));
  return plan.column;
}

// Words behind a bar begin at its end, or beyond such a rule.
function startClear(left, width, plan) {
  const start = Math.max(left, ...rulesOf(plan).filter((at) => at > left - 6 && at < left + width + 4).map((at) => at + 7));
  return start + width < plan.width + 2 ? start : left;
}

// A dot's words go to its left where such rules would push them so far right that they seem to name a rule; where the left has no room
// and the rule is far, they stay beside the dot, and the rule lets them through.
const ADRIFT = 40;
function besideEnd(mark, area, plan) {
  const width = barWidth(mark);
  const [left, right] = [area.x - 7, area.x + area.width + 7];
  const start = startClear(right, width, plan);
  if (mark.type !== "dot" || start - right <= ADRIFT) return { x: start };
  const free = left - width > plan.box.left + 4 && !rulesOf(plan).some((at) => at > left - width - 4 && at < left);
  if (free) return { x: left, "text-anchor": "end" };
  return { x: start - right > 2 * ADRIFT ? right : start };
}

// Where a bar's words begin behind it. Under names that stand over the bars all rows' words do, or none.
const behindBar = (mark, plan) => startClear(plan.x.at(mark.x1 ?? mark.x) + (mark.type === "dot" ? DOT : 0) + 7, barWidth(mark), plan);
function standBehind(plan) {
  plan.behind ??= plan.figure.marks.filter(inRow).every((mark) => behindBar(mark, plan) + barWidth(mark) <= plan.width - 2);
  return plan.behind;
}

// The middle of the room that a piece of a bar has for its name: all of it, or the wider part beside a point on it; null where that is short.
function clearOfPoints(mark, area, width, { figure, x, rows }) {
  const points = figure.marks.filter((other) => rows && other.type === "point" && other.y === mark.y).map((other) => [x.at(other.x) - 8, x.at(other.x) + 8]).sort(([a], [b]) => a - b);
  const edges = [area.x, ...points.filter(([from, to]) => to > area.x && from < area.x + area.width).flat(), area.x + area.width];
  const parts = Array.from({ length: edges.length / 2 }, (_, i) => [edges[2 * i], edges[2 * i + 1]]);
  const [from, to] = parts.reduce((best, part) => (part[1] - part[0] > best[1] - best[0] ? part : best));
  return width < to - from - 8 ? (from + to) / 2 : null;
}

// A value by its name where a bar would have no true length: a dot, and a line that leads the eye to it.
const DOT = 6;
const dotShapes = (mark, key, area, { box }) => [
  h("path", { key: `${key}g`, class: "il-guide", d: `M${box.left},${area.y + DOT}H${area.x}` }),
  h("path", { key, class: `il-point c-${mark.colour ?? "ink"} ${mark.emphasis ? "il-emphasis" : ""} ${mark.pattern ? "il-hollow" : ""}`, d: shapePath("circle", area.x + DOT, area.y + DOT, DOT) }),
];

// That a mark can be moved, and which way: arrow heads beside a point, on a rule a knob. `plan.holds`: the axes along which it can.
const GRIP = 9; // px that they take beside a point
const heads = (x, y, r, axis, box) => (axis === "x"
  ? `${x > box.left + 1 ? `M${x - r - 3},${y - 4}l-4,4l4,4` : ""}${x < box.right - 1 ? `M${x + r + 3},${y - 4}l4,4l-4,4` : ""}`
  : `${y > box.top + 1 ? `M${x - 4},${y - r - 3}l4,-4l4,4` : ""}${y < box.bottom - 1 ? `M${x - 4},${y + r + 3}l4,4l4,-4` : ""}`); // none beyond an axis's end

const ENDLESS = { left: -Infinity, right: Infinity, top: -Infinity, bottom: Infinity }; // the edge of the last row can be moved on

// `plan.grips`: they lie over all marks.
function gripView(mark, key, x, y, r, plan) {
  const grips = (plan.holds?.(mark) ?? []).map((axis) => h("path", { key: `${key}-grip-${axis}`, class: "il-grip", d: heads(x, y, r, axis, mark.edge ? ENDLESS : plan.box) }));
  plan.grips?.push(...grips);
  return grips.length;
}

function knobView(mark, key, x, y, plan) {
  if (gripView(mark, key, x, y, 5, plan)) plan.grips.push(h("path", { key: `${key}-knob`, class: `il-knob-mark c-${mark.colour ?? "ink"}`, d: shapePath("circle", x, y, 5) }));
}

const MARKS = {
  dot: (mark, key, plan) => MARKS.bar(mark, key, plan),

  bar(mark, key, plan) {
    const { x, y, rows, above, figure } = plan;
    const [scale, other] = rows ? [x, y] : [y, x];
    const axis = rows ? "x" : "y";
    const to = scale.at(mark[`${axis}1`] ?? mark[axis]);
    const from = isNumber(mark[`${axis}0`]) ? scale.at(mark[`${axis}0`]) : scale.low;
    const [i, n] = mark.slot ?? [0, 1];
    const room = above ? other.step - 24 : other.step * (rows ? 0.68 : 0.62);
    const thick = room / n;
    const start = other.at(mark[rows ? "y" : "x"]) + (above ? other.step / 2 - room - 4 : -room / 2) + i * thick;
    const [low, long] = [Math.min(from, to), Math.max(Math.abs(to - from), mark[`${axis}0`] === undefined ? 1 : 3)];
    const area = rows ? { x: low, y: start, width: long, height: thick - (n > 1 ? 1 : 0) } : { x: start, y: low, width: thick - (n > 1 ? 1 : 0), height: long };
    if (mark.thin && rows) { // an interval over its bar, or through its point
      const under = figure.marks.some((one) => one.type === "bar" && !one.thin && one.y === mark.y);
      const middle = under ? area.y + area.height / 2 : barLevel(mark, plan);
      Object.assign(area, { y: middle - 1.5, height: 3 });
      if (!under) sample(plan.taken, [area.x, middle], [area.x + area.width, middle]);
    }
    if (mark.type === "dot") Object.assign(area, { x: to - DOT, y: start + thick / 2 - DOT, width: 2 * DOT, height: 2 * DOT });
    else if (figure.stacked && rows && area.width > 4) area.width -= 1; // pieces that touch stay apart
    else if (figure.stacked && !rows && area.height > 4) area.height -= 1;
    const shapes = mark.type === "dot" ? dotShapes(mark, key, area, plan) : [h("rect", { key, class: classOf(mark, plan, "bar"), rx: 2, ...area })];
    if (mark.pattern && mark.type === "bar") shapes.push(h("rect", { key: `${key}p`, class: "il-hatch", rx: 2, fill: `url(#${plan.hatch})`, ...area }));
    const words = barWords(mark);
    if (figure.stacked) {
      const name = mark.name ?? mark.label;
      const middle = name && area.height >= SIZE + 3 ? clearOfPoints(mark, area, measure(name), plan) : null;
      if (middle !== null) shapes.push(h("text", { key: `${key}l`, class: `il-inside c-${mark.fail ? "fail" : mark.colour} ${plan.dimmed && !mark.emphasis ? "il-faded" : ""} ${mark.pattern ? "il-clear" : ""}`, x: middle, y: area.y + area.height / 2 + 4.5, "text-anchor": "middle" }, name));
    } else if (words.length && rows) {
      const place = above && !standBehind(plan) ? { x: columnEnd(plan), y: other.at(mark.y) - other.step / 2 + 15, "text-anchor": "end" } : { ...besideEnd(mark, area, plan), y: area.y + area.height / 2 + 4.5 };
      const ranged = place["text-anchor"] === "end"; // figures end in one column, and what is said of them stands before
      const tags = (mark.tags ?? []).map((tag, k) => h("tspan", { key: k, class: `il-tagged c-${tag.colour ?? "ink"}`, dx: ranged && !k ? null : 9 }, tag.text));
      const figured = mark.label && h("tspan", { key: "figure", dx: ranged && tags.length ? 9 : null }, mark.label);
      shapes.push(h("text", { key: `${key}l`, class: `il-value ${mark.emphasis ? "il-strong" : ""}`, ...place }, ranged ? [tags, figured] : [figured, tags]));
    } else if (mark.label) shapes.push(h("text", { key: `${key}l`, class: "il-value", x: area.x + area.width / 2, y: area.y - 6, "text-anchor": "middle" }, mark.label));
    const grip = rows ? { left: plan.box.left, right: Math.max(area.x + area.width, plan.box.left + 24), top: area.y, bottom: area.y + area.height } : { left: area.x, right: area.x + area.width, top: area.y, bottom: plan.box.bottom };
    if (mark[`${axis}0`] !== undefined && rows) grip.left = area.x;
    return { shapes, target: grip };
  },

  line(mark, key, plan) {
    const at = mark.points.map(([a, b]) => [plan.x.at(a), plan.y.at(b)]);
    const d = at.map(([a, b], i) => `${i ? "L" : "M"}${a.toFixed(1)},${b.toFixed(1)}`).join("");
    const shapes = [h("path", { key, class: classOf(mark, plan, "line"), d, "stroke-dasharray": mark.dash === true ? "6 4" : mark.dash || null, "clip-path": `url(#${plan.clip})` })];
    for (let i = 1; i < at.length; i += 1) sample(plan.taken, at[i - 1], at[i]);
    if (mark.arrow) shapes.push(headOf(mark, key, at, plan));
    if (mark.end && plan.tails) plan.ending.push({ mark, key, at });
    const middle = at[Math.floor(at.length / 2)];
    if (mark.label) plan[mark.along ? "last" : "later"].push(() => lineLabel(mark, key, at, plan));
    return { shapes, target: { left: middle[0] - 12, right: middle[0] + 12, top: middle[1] - 12, bottom: middle[1] + 12, line: at } };
  },

  area(mark, key, plan) {
    const { x, y, box } = plan;
    if (mark.points) {
      const up = mark.points.map(([a, b, c]) => [x.at(a), y.at(c ?? b)]);
      const down = mark.points.map(([a, b, c]) => [x.at(a), c === undefined ? box.bottom : y.at(b)]).reverse();
      const d = `M${[...up, ...down].map((p) => p.map((v) => v.toFixed(1)).join(",")).join("L")}z`;
      const shapes = [h("path", { key, class: classOf(mark, plan, "area"), d })];
      if (mark.pattern) shapes.push(h("path", { key: `${key}p`, class: "il-hatch", fill: `url(#${plan.hatch})`, d }));
      if (mark.solid) up.forEach(([px, py], i) => plan.taken.push({ left: px - 3, right: px + 3, top: py, bottom: down[up.length - 1 - i][1] })); // words stand better beside it
      return { shapes };
    }
    const [left, right] = [isNumber(mark.x0) ? x.at(mark.x0) : box.left, isNumber(mark.x1) ? x.at(mark.x1) : box.right];
    const [top, bottom] = [isNumber(mark.y1) ? y.at(mark.y1) : box.top, isNumber(mark.y0) ? y.at(mark.y0) : box.bottom];
    const area = { x: Math.min(left, right), y: Math.min(top, bottom), width: Math.abs(right - left), height: Math.abs(bottom - top) };
    const shapes = [h("rect", { key, class: classOf(mark, plan, "area"), ...area })];
    if (mark.label && measure(mark.label, true) < area.width - 10) {
      const end = mark.anchor === "end";
      const level = underRoof(plan) ? box.bottom - 8 : area.y + 16;
      const place = { x: areaWordsAt(mark, area, level, end, plan), y: level, "text-anchor": end ? "end" : "start" };
      plan.taken.push(boxOf(place.x, place.y, mark.label, place["text-anchor"], true));
      shapes.push(h("text", { key: `${key}l`, class: `il-regime c-${mark.colour}`, ...place }, mark.label));
    }
    return { shapes };
  },

  rule(mark, key, plan) {
    const { x, y, box, over } = plan;
    const upright = isNumber(mark.x);
    const at = upright ? x.at(mark.x) : y.at(mark.y) + (mark.edge ? y.step / 2 : 0);
    const lane = over.placed.get(mark);
    const covered = lane && [...over.placed.values()].some((other) => other.lane < lane.lane && at > other.left - 3 && at < other.right + 3);
    const words = lane ? box.top - 7 - LINE * lane.lane : 0;
    const top = lane && !covered ? box.top - 2 - LINE * lane.lane : box.top;
    sample(plan.taken, upright ? [at, box.top] : [box.left, at], upright ? [at, box.bottom] : [box.right, at]);
    const d = upright ? uprightPath(at, top, plan) : `M${box.left},${at}H${box.right}`;
    const shapes = [h("path", { key, class: classOf(mark, plan, "rule"), d, "stroke-dasharray": mark.dash === true ? "5 4" : mark.dash || null })];
    if (lane) shapes.push(h("text", { key: `${key}l`, class: `il-over c-${mark.colour ?? "ink"} ${mark.role ? "il-strong" : ""}`, x: lane.x, y: words, "text-anchor": "middle" }, ruleText(mark)));
    else if (mark.label) plan.sides.push({ mark, key, y: at });
    if (upright && plan.holds?.(mark).length) plan.taken.push({ left: at - 14, right: at + 14, top: box.bottom - 16, bottom: box.bottom - 2, weight: 4 });
    if (upright) knobView(mark, key, at, box.bottom - 9, plan);
    else knobView(mark, key, box.right - (mark.edge ? 34 : 14), at, plan);
    return { shapes, target: upright ? { left: at - 12, right: at + 12, top: top - LINE, bottom: box.bottom, thin: true } : { left: box.left, right: box.right, top: at - 12, bottom: at + 12, thin: true } };
  },

  point(mark, key, plan) {
    const [px, py] = [plan.x.at(mark.x), plan.rows ? barLevel(mark, plan) : plan.y.at(mark.y)];
    const r = mark.size ?? 6;
    const reach = r + (mark.drag ? GRIP : 0);
    const shape = mark.shape ?? (mark.role === "prediction" ? "diamond" : "circle");
    plan.taken.push({ left: px - reach, right: px + reach, top: py - r, bottom: py + r, weight: 4 }); // words over a point hide it; over a line they do not
    if (mark.label) plan[mark.role === "truth" ? "first" : "later"].push(() => {
      const bold = Boolean(mark.emphasis || mark.role);
      const text = headed(mark.label, bold, plan);
      const right = px + reach + 5;
      const beyond = plan.rows ? startClear(right, measure(text, bold), plan) - right : 0; // farther than ADRIFT they'd seem to name a rule
      const at = placeAround(px, py, reach, text, bold, plan.taken, { left: plan.box.left, right: plan.width, top: plan.box.top - 4, bottom: plan.box.bottom, row: plan.rows && [plan.y.at(mark.y) - plan.y.step / 2, plan.y.at(mark.y) + plan.y.step / 2] }, beyond > ADRIFT ? 0 : beyond);
      const words = h("text", { key: `${key}l`, class: `il-over c-${mark.role ? mark.colour : "ink"} ${bold ? "il-strong" : ""}`, x: at.x, y: at.y, "text-anchor": at.anchor }, text);
      return at.far ? [leader(`${key}-leader`, px, py, r, at.box, plan.taken), words] : words;
    });
    gripView(mark, key, px, py, r, plan);
    return { shapes: [h("path", { key, class: `${classOf(mark, plan, "point")} ${mark.hollow ? "il-hollow" : ""}`, d: shapePath(shape, px, py, r) })], target: { left: px - r, right: px + r, top: py - r, bottom: py + r } };
  },

  label(mark, key, plan) {
    if (plan.rows) return { shapes: rowLabel(mark, key, plan) };
    plan.later.push(() => {
      const at = placeAround(plan.x.at(mark.x), plan.y.at(mark.y), 2, mark.label, false, plan.taken, { left: 0, right: plan.width, top: plan.box.top, bottom: plan.box.bottom });
      return h("text", { key, class: `il-over c-${mark.colour ?? "ink"}`, x: at.x, y: at.y, "text-anchor": at.anchor }, mark.label);
    });
    return { shapes: [] };
  },
};

// The head of an arrow, a little beyond the middle of a line: which way things go.
function headOf(mark, key, at, plan) {
  const [[ax, ay], [bx, by]] = [at[0], at.at(-1)];
  const angle = (Math.atan2(by - ay, bx - ax) * 180) / Math.PI;
  return h("path", { key: `${key}h`, class: `${classOf(mark, plan, "line")} il-head`, d: "M-7,-6L5,0L-7,6", transform: `translate(${(ax + 0.58 * (bx - ax)).toFixed(1)},${(ay + 0.58 * (by - ay)).toFixed(1)}) rotate(${angle.toFixed(1)})` });
}

// An upright rule from top to bottom; where the names of bars stand over them, it lets those out that it would run through.
function uprightPath(at, top, { box, y, rows, above, figure }) {
  if (!rows || !above) return `M${at},${top}V${box.bottom}`;
  const through = figure.y.names.filter((name) => at < box.left + measure(name, true) + 4);
  if (!through.length) return `M${at},${top}V${box.bottom}`;
  const parts = figure.y.names.map((name) => {
    const start = y.at(name) - y.step / 2;
    return `M${at},${through.includes(name) ? start + 20 : start}V${start + y.step}`;
  });
  return [`M${at},${top}V${box.top + 2}`, ...parts].join("");
}

// From a point to words that do not touch it. Other words keep off it.
const LED = 40;
function leader(key, px, py, r, box, taken) {
  const ends = leaderEnds(px, py, r, box);
  sample(taken, ...ends, LED);
  const [from, to] = ends.map((end) => end.map((v) => v.toFixed(1)).join());
  return h("path", { key, class: "il-leader", d: `M${from}L${to}` });
}

// Whether a roof lies so near the top that its words need the room there, and those of the points on it where they are many.
const underRoof = ({ figure, y, box }) => {
  const room = figure.marks.filter((mark) => mark.type === "point" && mark.label).length > 3 ? 58 : 38;
  return figure.marks.some((mark) => mark.along && mark.points.some(([, value]) => y.at(value) < box.top + room));
};

// The middle of a row's bar, which stands under its name where the name is above.
const barLevel = (mark, { y, above }) => y.at(mark.y) + (above ? y.step / 2 - 4 - (y.step - 24) / 2 : 0);

// Words behind a stacked bar, on its own level; where the bar leaves them no room, over it beside its name. Where the name leaves none
// either, the figure stays behind the bar, and what was said of it goes up.
function rowLabel(mark, key, plan) {
  const { x, y, width, above } = plan;
  const bold = Boolean(mark.role);
  const long = measure(mark.label, bold);
  const dress = { class: `il-over c-${mark.colour ?? "ink"} ${bold ? "il-strong" : ""}` };
  const behind = x.at(mark.x) + 7;
  const over = (text, wide) => h("text", { ...dress, key, x: endClear(width - 2, wide, plan), y: y.at(mark.y) - y.step / 2 + 15, "text-anchor": "end" }, text);
  const after = (text, wide) => h("text", { ...dress, key: `${key}v`, x: startClear(Math.min(behind, width - wide - 2), wide, plan), y: barLevel(mark, plan) + 4.5 }, text);
  if (!above || behind + long <= width + 2) return [after(mark.label, long)];
  const [figure, said] = mark.label.split("  ");
  if (said && measure(mark.y, true) + long + 12 > width && behind + measure(figure, bold) <= width + 2) return [after(figure, measure(figure, bold)), over(said, measure(said, bold))];
  return [over(mark.label, long)];
}

// Where an area's words begin or end: at its border, or at a line inside it; where they lie on the fewest points and lines.
function areaWordsAt(mark, area, level, end, { figure, x, y, over }) {
  const away = end ? -8 : 8;
  const rules = [...over.placed.keys()].map((rule) => x.at(rule.x)).filter((at) => at > area.x + 1 && at < area.x + area.width - 1);
  const starts = [end ? area.x + area.width : area.x, ...rules.sort((a, b) => (end ? b - a : a - b))].map((at) => at + away);
  const points = figure.marks.filter((other) => other.type === "point").map((other) => [x.at(other.x), y.at(other.y), other.size ?? 6]);
  const cost = (at) => {
    const box = boxOf(at, level, mark.label, end ? "end" : "start", true);
    if (box.left < area.x || box.right > area.x + area.width) return Infinity;
    const hit = points.filter(([px, py, r]) => overlap(box, { left: px - r, right: px + r, top: py - r, bottom: py + r }) > 0);
    return 2 * hit.length + rules.filter((rule) => rule > box.left && rule < box.right).length;
  };
  return starts.reduce((best, at) => (cost(at) < cost(best) ? at : best));
}

// On a narrow picture a long label is its head alone, "whole run" of "whole run, 21× under the roof"; its target tells the rest.
function headed(label, bold, { box }) {
  return measure(label, bold) > 0.6 * (box.right - box.left) && label.includes(", ") ? label.slice(0, label.indexOf(", ")) : label;
}

// A line as a row of small boxes, so that words keep off it.
function sample(taken, [ax, ay], [bx, by], weight = 1) {
  const steps = Math.min(60, Math.max(1, Math.ceil(Math.hypot(bx - ax, by - ay) / 10)));
  for (let i = 0; i <= steps; i += 1) {
    const [px, py] = [ax + ((bx - ax) * i) / steps, ay + ((by - ay) * i) / steps];
    taken.push({ left: px - 2, right: px + 2, top: py - 3, bottom: py + 3, weight });
  }
}
