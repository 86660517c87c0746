// A picture from its declaration: a drawing (one image with one name), over it the targets that tell exact values, under it the table.

const TALL = 300; // px: a picture over this leaves no room for dials under it on a phone

// Drawn again only when something in `from` has changed: a turn of a dial that leaves a figure as it is, or brings one back, costs nothing.
function figureView(figure, ctx, i) {
  const { ui, spec } = ctx;
  const id = figure.id ?? `figure-${i}`;
  const width = ui.widths.get(id) ?? ui.widths.get(roomOf(figure)) ?? 0;
  const from = [id, width, spec, ui.local[`at:${id}`], ui.local[`table:${id}`], holdState(figure, ctx)];
  const item = memoize(ui.drawings, figure, from, () => freshFigure(figure, id, width, ctx));
  if (!ui.ahead) ui.tall?.[high.has(figure) ? "add" : "delete"](id);
  return item;
}

const high = new WeakSet(); // figures that were drawn higher than that

// A picture that is shown for the first time has the room of the last one of its width, until its own is measured.
const roomOf = (figure) => `:${figure.width ?? "full"}`;

// "H100 SXM5 80 GB": no line ends before the unit of a name.
const unbroken = (text) => text.replace(/(\d) (?=[GT]i?B\b)/g, "$1\u00a0");

function freshFigure(figure, id, width, ctx) {
  const { ui } = ctx;
  const holder = { key: "plot", class: "il-plot", "data-figure": id, "data-room": roomOf(figure), after: (node) => ui.watch(node, id) };
  return h("figure", { key: id, class: `il-figure ${figure.width ? `il-${figure.width}` : ""}` },
    h("figcaption", {}, h("strong", { class: figure.tint ? `c-${figure.tint}` : null }, figure.title), figure.note && h("span", { class: "il-quiet" }, ` ${unbroken(figure.note)}`), figure.caption && rich("p", { class: "il-caption" }, figure.caption)),
    h("div", holder, width > 60 ? plotView(figure, id, width, ctx) : null),
    legendOf(figure, width).length ? legendView(legendOf(figure, width), ui) : null,
    figure.foot && h("p", { key: "foot", class: "il-foot" }, figure.foot),
    ctx.apart ? null : tableView(figure, id, ctx));
}

function plotView(figure, id, width, ctx) {
  const { ui } = ctx;
  const plan = layout(figure, width);
  high[plan.height > TALL ? "add" : "delete"](figure);
  Object.assign(plan, { clip: `${ui.id}-${id}-clip`, hatch: `${ui.id}-${id}-hatch`, taken: [], first: [], later: [], last: [], sides: [], ending: [], grips: [], dimmed: figure.marks.some((mark) => mark.emphasis), holds: (mark) => holdsOf(mark, ctx).map(({ hold }) => hold.axis) });
  const { box, height } = plan;
  for (const { left, right, lane } of plan.over.placed.values()) plan.taken.push({ left, right, top: box.top - 9 - LINE * lane - SIZE, bottom: box.top - 4 - LINE * lane });
  const drawn = figure.marks.map((mark, i) => ({ mark, key: `${mark.type}:${mark.id ?? mark.name ?? i}`, i })).map((item) => ({ ...item, ...MARKS[item.mark.type](item.mark, item.key, plan) }));
  const order = { area: 0, rule: 1, bar: 2, dot: 2, cells: 2, line: 3, point: 4, label: 5 };
  const shapes = [...drawn].sort((a, b) => order[a.mark.type] - order[b.mark.type]).flatMap((item) => item.shapes);
  const upright = uprightBracket(plan);
  if (upright) sample(plan.taken, [upright.level, upright.from], [upright.level, upright.to], LED);
  const made = (list) => list.flatMap((make) => make() ?? []);
  const words = [...tailLabels(plan), ...made(plan.first), ...sideLabels(plan), ...made(plan.later), ...made(plan.last)]; // a truth's words have the first choice, a roof's the last: it is long
  const size = { width, height, viewBox: `0 0 ${width} ${height}` };
  const targets = drawn.filter((item) => item.target && (item.mark.hover?.length || item.mark.drag));
  const layers = clearWords([h("g", { key: "axes" }, axesView(plan)), h("g", { key: "marks" }, shapes, plan.grips), h("g", { key: "words" }, rowNames(plan), words, bracket(plan))], width, height);
  return [
    h("svg", { key: "drawing", class: "il-drawing", role: "img", "aria-label": figure.text, ...size },
      h("defs", {}, h("clipPath", { id: plan.clip }, h("rect", { x: box.left, y: box.top - 2, width: Math.max(0, box.right - box.left), height: Math.max(0, box.bottom - box.top + 4) })), hatching(plan.hatch)),
      layers),
    targets.length ? targetsView(targets, id, plan, size, ctx) : null,
  ];
}

const hatching = (id) => h("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, h("path", { d: "M0,0V6", class: "il-stripe" }));

// Words at a level line: over or under it, at its right or left end, where they cover the least; where that is a mark of the picture,
// off the line in a place that is free, and a leader says whose they are.
const ALOFT = [-24, -42, -60, -80, -104, 34, 52];
function sideLabels(plan) {
  const { box, taken } = plan;
  return plan.sides.flatMap(({ mark, key, y }) => {
    const text = ruleText(mark);
    const bold = Boolean(mark.role);
    const covers = ([px, py, anchor]) => {
      const room = boxOf(px, py, text, anchor, bold);
      const off = (py > box.bottom - 2 || py < box.top + 8 ? 500 : 0) + (room.left < -2 || room.right > plan.width + 2 ? 1e5 : 0);
      return taken.reduce((sum, other) => sum + (other.weight ?? 1) * overlap(room, other), off);
    };
    const leaderFrom = (room, py) => [[room.left + 10, py < y ? room.bottom : room.top], [room.left + 10, y]];
    const aloft = (place) => covers(place) + struckWords(leaderFrom(boxOf(place[0], place[1], text, place[2], bold), place[1]), taken);
    const least = (places, cost = covers) => places.reduce((best, place) => (cost(place) < cost(best) ? place : best));
    const handle = mark.drag ? (mark.edge ? 48 : 28) : 2; // clear of the knob that is dragged
    const ends = (dy) => [[box.right - handle, y + dy, "end"], [box.left + 4, y + dy, "start"]];
    const along = (dy) => [0.25, 0.5, 0.75].map((share) => [box.left + share * (box.right - box.left), y + dy, "middle"]);
    const atEnds = least([-5, 15].flatMap(ends));
    const between = least([atEnds, ...[-5, 15].flatMap(along)]);
    const near = mark.role || (plan.width >= WIDE && covers(atEnds) > 2 * CROWDED && covers(between) < covers(atEnds) / 4) ? between : atEnds;
    const far = mark.role && covers(near) > CROWDED ? least(ALOFT.flatMap((dy) => [...ends(dy), ...along(dy)]), aloft) : near;
    const off = aloft(far) < covers(near) / 2;
    const [px, py, anchor] = off ? far : near;
    const room = boxOf(px, py, text, anchor, bold);
    taken.push(room);
    const words = h("text", { key: `${key}l`, class: `il-over c-${mark.colour ?? "ink"} ${bold ? "il-strong" : ""}`, x: px, y: py, "text-anchor": anchor }, text);
    if (off) sample(taken, ...leaderFrom(room, py), LED);
    return off ? [h("path", { key: `${key}-leader`, class: "il-leader", d: `M${leaderFrom(room, py).join("L")}` }), words] : [words];
  });
}

const CROWDED = 120; // square px of other things that words at a line's end would cover: they rather stand beside it further back

// The place that has this share of a line's way across behind it.
function onLine(at, share) {
  const across = at[0][0] + (at.at(-1)[0] - at[0][0]) * share;
  const i = Math.max(1, at.findIndex(([px]) => px >= across - 1e-6));
  const [[ax, ay], [bx, by]] = [at[i - 1] ?? at[0], at[i] ?? at.at(-1)];
  return bx === ax ? [bx, by] : [across, ay + ((by - ay) * (across - ax)) / (bx - ax)];
}

// At the line's end, or along it.
function lineLabel(mark, key, at, plan) {
  const { box } = plan;
  const inside = at.filter(([px, py]) => px >= box.left - 1 && px <= box.right + 1 && py >= box.top - 1 && py <= box.bottom + 1);
  if (!inside.length) return null;
  if (mark.along && at.length > 1) return alongLabel(mark, key, inside[0], inside.at(-1), plan);
  const bounds = { left: box.left, right: plan.width, top: box.top - 12, bottom: box.bottom };
  const beside = (share) => bestAround(...onLine(inside, share), 4, mark.label, Boolean(mark.emphasis), plan.taken, bounds);
  const end = beside(1);
  const place = end.cost < CROWDED ? end : [0.75, 0.5, 0.25].map(beside).reduce((best, each) => (each.cost < best.cost ? each : best), end);
  plan.taken.push(place.box);
  return h("text", { key: `${key}l`, class: `il-over c-${mark.colour ?? "ink"} ${mark.emphasis ? "il-strong" : ""}`, x: place.x, y: place.y, "text-anchor": place.anchor }, mark.label);
}

// The words of a roof: turned with it and over it; higher where points lie on a level one.
function alongLabel(mark, key, [ax, ay], [bx, by], plan) {
  const dress = { key: `${key}l`, class: `il-over c-${mark.colour ?? "ink"}` };
  const [length, width] = [Math.hypot(bx - ax, by - ay), measure(mark.label)];
  const angle = (Math.atan2(by - ay, bx - ax) * 180) / Math.PI;
  const level = Math.abs(angle) < 2;
  if (level || length < width + 8) {
    const right = Math.min(Math.max(bx, width), plan.width - 2);
    const covered = ([x, y]) => plan.taken.reduce((sum, other) => sum + (other.weight ?? 1) * overlap(boxOf(x, y, mark.label, "end", false), other), 0);
    const levels = [by - 8, by + 17, by - 18, by - 28, by + 28, by - 40].filter((y, i) => !i || y > plan.box.top + SIZE);
    const places = [right, Math.min(right, ax + 8 + width)].flatMap((x) => levels.map((y) => [x, y]));
    const [x, y] = places.reduce((best, place) => (covered(place) < covered(best) ? place : best));
    plan.taken.push(boxOf(x, y, mark.label, "end", false));
    return h("text", { ...dress, x, y, "text-anchor": "end" }, mark.label);
  }
  // where along the line its words cover the least: parallel roofs lie close together
  const half = width / 2 / length;
  const room = (at) => at - half >= 0 && at + half <= 1;
  const at = [0.45, 0.25, 0.65, 0.1, 0.82].filter(room);
  const middleAt = (share) => [ax + (bx - ax) * share, ay + (by - ay) * share];
  const boxes = (share) => {
    const [mx, my] = middleAt(share);
    const samples = [];
    sample(samples, [mx - (bx - ax) * half, my - (by - ay) * half - 12], [mx + (bx - ax) * half, my + (by - ay) * half - 12]);
    return samples.map((box) => ({ left: box.left - 3, right: box.right + 3, top: box.top - 3, bottom: box.bottom + 3 }));
  };
  const cost = (share) => boxes(share).reduce((sum, box) => sum + plan.taken.reduce((all, other) => all + overlap(box, other), 0), 0);
  const best = (at.length ? at : [0.45]).map((share) => [cost(share), share]).reduce((a, b) => (b[0] < a[0] * 0.8 ? b : a))[1];
  const middle = middleAt(best);
  plan.taken.push(...boxes(best));
  return h("text", { ...dress, transform: `translate(${middle.map((v) => v.toFixed(1)).join()}) rotate(${angle.toFixed(1)})`, dy: -7, "text-anchor": "middle" }, mark.label);
}

// The distance in words: over the arrow, or right or left of it; where there is no room, its head alone ("98.9× too low").
function distanceWords(text, low, high, width) {
  for (const words of [text, text.split(", ")[0]]) {
    const half = measure(words, true) / 2;
    if (high - low >= 2 * half + 30) return { text: words, x: (low + high) / 2, over: true, clear: true };
    if (high + 2 * half + 12 <= width) return { text: words, x: high + half + 12, clear: true };
    if (low - 2 * half - 12 >= 0) return { text: words, x: low - half - 12, clear: true };
  }
  const half = measure(text, true) / 2;
  return { text, x: Math.min(Math.max((low + high) / 2, half), width - half), clear: false };
}

// The same beside an upright arrow: in its middle or higher, all of it or its head, where it covers the least.
function besideUpright(text, x, from, to, taken) {
  const places = [text, text.split(", ")[0]].flatMap((words) => [0.5, 0.3, 0.7].map((share) => ({ text: words, y: from + (to - from) * share + 4.5 })));
  const covers = ({ text: words, y }) => taken.reduce((sum, other) => sum + overlap(boxOf(x, y, words, "start", true), other), 0);
  return places.reduce((best, place) => (covers(place) < covers(best) - 8 ? place : best));
}

// From what was predicted to what is so, with the distance in words.
function bracket({ pair, x, y, box, over, width, taken }) {
  if (!pair?.prediction.distance) return null;
  const text = pair.prediction.distance;
  if (isNumber(pair.prediction.x) && isNumber(pair.truth.x) && !x.band) {
    const [from, to] = [x.at(pair.prediction.x), x.at(pair.truth.x)];
    const level = box.top - over.count * LINE - 10;
    const words = distanceWords(text, Math.min(from, to), Math.max(from, to), width);
    return h("g", { key: "bracket", class: "il-bracket c-accent" }, words.clear && Math.abs(to - from) > 16 && h("path", { d: arrow(from, to, level) }),
      h("text", { x: words.x, y: words.over ? level - 5 : level + 4.5, "text-anchor": "middle", class: "il-over il-strong c-accent" }, words.text));
  }
  const upright = uprightBracket({ pair, x, y, box });
  if (!upright) return null;
  const { from, to, level } = upright;
  const words = besideUpright(text, level + 8, from, to, taken);
  return h("g", { key: "bracket", class: "il-bracket c-accent" }, h("path", { d: `M${level},${from}V${to}` }),
    h("text", { x: level + 8, y: words.y, class: "il-over il-strong c-accent" }, words.text));
}

// Where the arrow between two level marks runs.
function uprightBracket({ pair, x, y, box }) {
  if (!pair?.prediction.distance || (isNumber(pair.prediction.x) && isNumber(pair.truth.x) && !x.band)) return null;
  if (!isNumber(pair.prediction.y) || !isNumber(pair.truth.y) || y.band) return null;
  return { from: y.at(pair.prediction.y), to: y.at(pair.truth.y), level: isNumber(pair.prediction.x) ? x.at(pair.prediction.x) : box.left + 14 };
}

function arrow(from, to, level) {
  const way = Math.sign(to - from) || 1;
  return `M${from},${level - 5}v10M${from},${level}H${to}m${-6 * way},-4l${6 * way},4l${-6 * way},4`;
}

const legendView = (legend) => h("ul", { key: "legend", class: "il-legend", role: "list" }, legend.map((item, i) =>
  h("li", { key: i, class: `c-${item.colour}` }, h("svg", { width: 14, height: 14, viewBox: "0 0 14 14", "aria-hidden": "true" }, swatch(item)), h("span", {}, item.label))));

function swatch(item) {
  if (item.shape === "line") return h("path", { class: "il-line", d: "M0,7H14", "stroke-dasharray": item.dash === true ? "4 3" : item.dash || null });
  if (item.shape === "strips") return [["M0,1H6V13H0z", "il-deep"], ["M7,1H13V13H7z", ""]].map(([d, depth]) => h("path", { class: `il-area il-emphasis ${depth}`, d }));
  if (item.shape === "person") return h("path", { class: `il-bar ${item.hollow ? "il-outline" : ""}`, d: thing("person", 3, 0.5, 8, 13) });
  if (item.shape) return h("path", { class: `il-point ${item.hollow ? "il-hollow" : ""}`, d: shapePath(item.shape, 7, 7, 5) });
  return [h("rect", { class: "il-bar", x: 1, y: 1, width: 12, height: 12, rx: 2 }), item.pattern && h("path", { class: "il-stripe", d: "M1,9L9,1M5,13L13,5" })];
}
