// Where things go in a picture: margins from the words that must fit, then scales, grid and axis names.

const TOP = 8;
const NARROW = 440; // px: a phone
const LINE = 18; // a line of words over or under the plot

const valuesOn = (figure, key) => figure.marks.flatMap((mark) => [
  mark[key], mark[`${key}0`], mark[`${key}1`], ...(mark.points ?? []).flatMap((point) => (key === "x" ? [point[0]] : point.slice(1))),
]);

// The words at the end of a bar: its value, then tags such as "bottleneck" or "your prediction".
const barWords = (mark) => [mark.label, ...(mark.tags ?? []).map((tag) => tag.text)].filter(Boolean);
const inRow = (mark) => mark.type === "bar" || mark.type === "dot"; // a value by its name: words stand behind it
const barWidth = (mark) => barWords(mark).reduce((sum, text) => sum + measure(text, true) + 10, 0);

const ROOM = 40; // px: the room for words at the ends of bars comes in such steps

// Horizontal bars; their names stand left, or over the bars where there is no room for that.
function layout(figure, width) {
  const rows = figure.y.scale === "band";
  const columns = figure.x.scale === "band";
  const grounded = figure.marks.some(inRow);
  const [xDomain, yDomain] = ["x", "y"].map((key) => figure[key].scale !== "band" && domainOf(figure[key], valuesOn(figure, key), grounded && (key === "x" ? rows : columns)));
  const bars = figure.marks.filter((mark) => inRow(mark) && rows);
  // in steps, so that a label that grows by a letter while a dial moves does not move the axis
  const ends = figure.stacked ? 0 : Math.ceil(Math.max(0, ...bars.map(barWidth)) / ROOM) * ROOM;
  const names = rows ? Math.max(...figure.y.names.map((name) => measure(name, true))) : 0;
  const above = rows && (names + ends > width * 0.52 || names > width * 0.32 || width < 420);
  const upright = figure.marks.filter((mark) => mark.type === "rule" && mark.label && isNumber(mark.x));
  const pad = { left: 4, right: 12, bottom: 24 + LINE, top: TOP };
  let stepY = 0;
  if (rows) {
    stepY = figure.row ?? (above ? (width < NARROW ? 38 : 46) : 30);
    if (above && figure.marks.some((mark) => mark.type === "point" && mark.label)) stepY = Math.max(stepY, 34); // its words stand under a name
    pad.left = above ? 2 : names + 12;
    pad.right = above ? 14 : Math.max(14, ends);
  } else {
    pad.top += LINE;
    const room = heightOf(figure, width) - pad.top - pad.bottom; // and less where words stand over the plot
    const ticks = Array.from({ length: 9 }).flatMap((_, lines) => ticksOf(makeScale(figure.y, yDomain, [0, room - lines * LINE]), () => SIZE, 14));
    pad.left = Math.max(24, ...ticks.map((tick) => measure(tick.text) + 10));
  }
  const tails = rows ? 0 : tailRoom(figure, width);
  pad.right = Math.max(pad.right, tails);
  if (figure.plain) Object.assign(pad, { left: 4, right: 4, top: TOP, bottom: TOP }); // places, not quantities: no axes
  const inner = { left: pad.left, right: width - pad.right };
  if (isSquare(figure, xDomain, yDomain)) inner.right = Math.min(inner.right, inner.left + heightOf(figure, width) - pad.top - pad.bottom - (upright.length ? LINE : 0));
  const x = makeScale(figure.x, xDomain, [inner.left, inner.right]);
  const over = lanes(upright.map((mark) => ({ mark, x: x.at(mark.x), text: ruleText(mark), bold: Boolean(mark.role) })), { left: rows ? 0 : inner.left - 4, right: width }); // clear of the ticks
  const pair = revealPair(figure);
  pad.top += over.count * LINE + (pair?.prediction.distance && isNumber(pair.prediction.x) ? LINE + 4 : 0);
  const height = rows ? pad.top + stepY * figure.y.names.length + pad.bottom : heightOf(figure, width);
  const box = { ...inner, top: pad.top, bottom: height - pad.bottom };
  const y = makeScale(figure.y, yDomain, rows ? [box.top, box.bottom] : [box.bottom, box.top]);
  return { figure, width, height, box, x, y, rows, columns, above, over, pair, tails };
}

// Both axes count the same thing from the same start to the same end: a step across is as long as a step up.
const isSquare = ({ x, y, plain }, across, up) => !plain && x.scale !== "band" && x.scale === y.scale && (x.unit ?? "") === (y.unit ?? "") && across[0] === up[0] && across[1] === up[1];

// On a phone no picture is higher than two thirds of its width: dials stand under it.
const heightOf = (figure, width) => (figure.ratio ? Math.round(width * figure.ratio) : width < NARROW ? Math.min(figure.height ?? 240, 280) : Math.min(figure.height ?? 380, Math.max(280, Math.round(width * 0.52))));

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const ruleText = (mark) => (mark.role === "prediction" ? `◆ ${mark.label}` : mark.label);

function revealPair(figure) {
  const [prediction, truth] = ["prediction", "truth"].map((role) => figure.marks.find((mark) => mark.role === role));
  return prediction && truth ? { prediction, truth } : null;
}

// An axis that changes keeps its nodes: a new one for each tick would cost as much as the rest of the picture.
function axesView(plan) {
  const { figure, box, x, y, height, width } = plan;
  if (figure.plain) return [];
  const out = [];
  if (!x.band && !figure.counted) {
    const inside = (tick) => Math.min(Math.max(x.at(tick.value), measure(tick.text) / 2), width - measure(tick.text) / 2);
    const ticks = ticksOf(x, (t) => measure(t.text), 12, inside);
    out.push(h("path", { key: "gx", class: "il-grid", d: ticks.map((tick) => `M${x.at(tick.value).toFixed(1)},${box.top}V${box.bottom}`).join("") }));
    out.push(...ticks.map((tick, i) => h("text", { key: `tx${i}`, class: "il-tick", x: inside(tick), y: box.bottom + 17, "text-anchor": "middle" }, tick.text)));
  } else if (x.band) out.push(...figure.x.names.map((name) => h("text", { key: `nx${name}`, class: "il-name", x: x.at(name), y: box.bottom + 17, "text-anchor": "middle" }, shortened(name, x.step - 4))));
  if (!y.band) {
    const ticks = ticksOf(y, () => SIZE, 14);
    out.push(h("path", { key: "gy", class: "il-grid", d: ticks.map((tick) => `M${box.left},${y.at(tick.value).toFixed(1)}H${box.right}`).join("") }));
    out.push(...ticks.map((tick, i) => h("text", { key: `ty${i}`, class: "il-tick", x: box.left - 6, y: y.at(tick.value) + 4.5, "text-anchor": "end" }, tick.text)));
    out.push(h("text", { key: "y-axis", class: "il-axis", x: 0, y: 13 }, axisName(figure.y, width)));
  }
  const across = axisName(figure.x, width);
  out.push(h("text", { key: "x-axis", class: "il-axis", x: Math.max(box.right, measure(across)), y: height - 6, "text-anchor": "end" }, across));
  return out;
}

// The names of the bars, over everything else: an upright rule may cross them.
function rowNames(plan) {
  const { figure, box, y, width, rows, above } = plan;
  if (!rows) return [];
  const ends = new Map(figure.stacked ? [] : figure.marks.filter(inRow).map((mark) => [mark.y, barWidth(mark)]));
  const strong = new Set(figure.marks.filter((mark) => mark.emphasis).map((mark) => mark.y));
  return figure.y.names.map((name) => h("text", {
    key: `ny${name}`, class: `il-name ${strong.has(name) ? "il-strong" : ""}`, x: above ? box.left : box.left - 10,
    y: above ? y.at(name) - y.step / 2 + 15 : y.at(name) + 4.5, "text-anchor": above ? "start" : "end",
  }, above ? shortened(name, (ends.size ? columnEnd(plan) : endClear(width - 2, 0, plan)) - (ends.get(name) ?? 0) - 12) : name));
}

// "peak rate, FLOP/s, log scale"; on a narrow screen only as much as fits. A short unit stands at every tick instead.
function axisName(axis, width) {
  const unit = standsOnce(axis.unit) && !(axis.label ?? "").includes(axis.unit) ? axis.unit : null;
  const parts = [axis.label, unit, axis.scale === "log" ? "log scale" : null].filter(Boolean);
  while (parts.length > 1 && measure(parts.join(", ")) > width - 8) parts.pop();
  return shortened(parts.join(", "), width - 8);
}

function shortened(text, room) {
  if (measure(text) <= room) return text;
  let short = text;
  while (short.length > 1 && measure(`${short}…`) > room) short = short.slice(0, -1);
  return `${short.trim()}…`;
}
