// Words in a picture: how long they are, and where they have room.

const FONT = '"Inter", system-ui, sans-serif';
const SIZE = 13;
const lengths = new Map();
let brush = null;
// What was measured before the typeface came is measured again; whoever has drawn by then draws again.
const typeface = Promise.all([400, 650].map((weight) => document.fonts?.load(`${weight} ${SIZE}px "Inter"`))).then(() => lengths.clear(), () => {});

function measure(text, bold = false) {
  const key = `${bold ? "b" : ""}${text}`;
  if (!lengths.has(key)) {
    brush ??= document.createElement("canvas").getContext("2d");
    brush.font = `${bold ? 650 : 400} ${SIZE}px ${FONT}`;
    lengths.set(key, brush.measureText(text).width);
  }
  return lengths.get(key);
}

const overlap = (a, b) => Math.max(0, Math.min(a.right, b.right) - Math.max(a.left, b.left)) * Math.max(0, Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top));

const SHIFT = { start: 0, middle: 0.5, end: 1 };
function boxOf(x, y, text, anchor, bold) {
  const width = measure(text, bold);
  const left = x - width * SHIFT[anchor];
  return { left: left - 2, right: left + width + 2, top: y - SIZE * 0.85, bottom: y + SIZE * 0.3, words: true };
}

// Where a leader goes from a point to words that do not touch it.
function leaderEnds(px, py, r, box) {
  const [tx, ty] = [Math.min(Math.max(px, box.left), box.right), box.bottom < py ? box.bottom : box.top];
  const long = Math.hypot(tx - px, ty - py) || 1;
  return [[px + ((tx - px) * r) / long, py + ((ty - py) * r) / long], [tx, ty]];
}

// What it costs that a leader runs through other words.
const STRUCK = 100; // square px of other things, for each step of it
function struckWords([[ax, ay], [bx, by]], taken) {
  const steps = Math.ceil(Math.hypot(bx - ax, by - ay) / 3);
  const words = taken.filter((box) => box.words);
  const inside = (x, y) => words.some((box) => x > box.left && x < box.right && y > box.top && y < box.bottom);
  return STRUCK * Array.from({ length: steps }, (_, i) => inside(ax + ((bx - ax) * i) / steps, ay + ((by - ay) * i) / steps)).filter(Boolean).length;
}

// A point's words go right, left, over or under it: where they cover the least and stay inside. The first so many places touch it; those
// in its row begin beyond a line that would run through them, `beyond` px on.
const NEAR = 8;
const ASTRAY = 1000; // square px of other things: what it costs that they stand in another row than their point
const UNEVEN = 120; // and in its row, but not on its level: under a rule words stay readable, between two rows nobody knows whose they are
function placeAround(x, y, reach, text, bold, taken, bounds, beyond = 0) {
  const best = bestAround(x, y, reach, text, bold, taken, bounds, beyond);
  taken.push(best.box);
  return best;
}

function bestAround(x, y, reach, text, bold, taken, bounds, beyond = 0) {
  const sides = [
    [reach + 5 + beyond, 4.5, "start"], [-reach - 5, 4.5, "end"], [0, -reach - 7, "middle"], [0, reach + 16, "middle"],
    [reach, -reach - 5, "start"], [-reach, -reach - 5, "end"], [reach, reach + 15, "start"], [-reach, reach + 15, "end"],
    [-reach - 12, -reach - 14, "end"], [-reach - 12, reach + 24, "end"], [-reach, reach + 34, "end"], [0, -reach - 24, "middle"],
    [reach + 12, -reach - 14, "start"], [reach + 12, reach + 24, "start"], [0, reach + 34, "middle"], [-reach - 24, -reach - 32, "end"], [reach + 24, -reach - 32, "start"],
  ];
  let best = null;
  sides.forEach(([dx, dy, anchor], i) => {
    const box = boxOf(x + dx, y + dy, text, anchor, bold);
    const outside = Math.max(0, bounds.left - box.left) + Math.max(0, box.right - bounds.right) + Math.max(0, bounds.top - box.top) + Math.max(0, box.bottom - bounds.bottom);
    const far = i >= NEAR;
    let cost = taken.reduce((sum, other) => sum + (other.weight ?? 1) * overlap(box, other), 0) + (outside > 0 ? 1e5 + 60 * outside : 0) + i;
    if (bounds.row && (box.bottom < bounds.row[0] || box.top > bounds.row[1])) cost += ASTRAY;
    else if (bounds.row && dy !== 4.5) cost += UNEVEN;
    if (far && cost < best.cost) cost += struckWords(leaderEnds(x, y, reach, box), taken);
    if (!best || cost < best.cost) best = { cost, x: x + dx, y: y + dy, anchor, box, far };
  });
  return best;
}

// All words in one lane, those of two crowded lines left and right of them; null where they have no room for that.
function besides(sorted, bounds) {
  const widths = sorted.map((item) => measure(item.text, item.bold));
  const spans = sorted.map((item, i) => {
    const left = Math.max(bounds.left, Math.min(item.x - widths[i] / 2, bounds.right - widths[i]));
    return { left, right: left + widths[i] };
  });
  for (let i = 1; i < sorted.length; i += 1) {
    if (spans[i].left > spans[i - 1].right + 10) continue;
    spans[i - 1] = { left: sorted[i - 1].x - 4 - widths[i - 1], right: sorted[i - 1].x - 4 };
    spans[i] = { left: sorted[i].x + 4, right: sorted[i].x + 4 + widths[i] };
  }
  const clear = spans.every((span, i) => span.left >= bounds.left && span.right <= bounds.right && (i === 0 || span.left >= spans[i - 1].right + 8));
  return clear ? spans : null;
}

// Words over vertical lines: in lanes, so that none lies on another. Returns each one's lane, counted upwards, and the room it takes.
// Two lines close together have their words left and right of them, so that neither runs through the other's.
function lanes(items, bounds) {
  const rows = [];
  const placed = new Map();
  const sorted = [...items].sort((a, b) => a.x - b.x);
  const apart = besides(sorted, bounds);
  if (apart) {
    sorted.forEach((item, i) => placed.set(item.mark, { lane: 0, x: (apart[i].left + apart[i].right) / 2, ...apart[i] }));
    return { placed, count: Math.min(1, sorted.length) };
  }
  for (const item of sorted) {
    const width = measure(item.text, item.bold);
    const left = Math.max(bounds.left, Math.min(item.x - width / 2, bounds.right - width));
    let lane = rows.findIndex((end) => left > end + 10);
    if (lane < 0) lane = rows.push(0) - 1;
    rows[lane] = left + width;
    placed.set(item.mark, { lane, x: left + width / 2, left, right: left + width });
  }
  return { placed, count: rows.length };
}
