// No two words of a picture lie on each other: what matters most is placed first; what is in its way moves a little, or goes. What a
// label that went would have said is in its target, and in the table.

const RANKS = [[/il-name|il-tick|il-tail/, 0], [/il-value/, 1], [/il-strong/, 2], [/il-axis/, 3], [/il-over/, 4], [/il-inside/, 5], [/il-regime/, 7]];
const SHIFTS = [[0, 0], [0, -15], [0, 15], [0, -30], [0, 30], [-24, 0], [24, 0], [-24, -15], [24, -15], [-24, 15], [24, 15], [0, -45], [0, 45], [-60, 0], [60, 0]];
const wordsOf = (node) => (typeof node === "object" ? node.children.map(wordsOf).join("") : String(node));
const isBold = (node) => /il-strong|il-regime|il-inside|il-tagged/.test(node.attributes?.class ?? "");

function rankOf({ attributes: a }) {
  if (a.transform) return 6; // along a line
  return RANKS.find(([pattern]) => pattern.test(a.class ?? ""))?.[1] ?? 4;
}

const widthOf = (node) => node.children.reduce((sum, child) => sum + (child.attributes?.dx ?? 0) + measure(wordsOf(child), isBold(node) || isBold(child)), 0);

// One box; a row of small ones for words that are turned.
function boxesOf(node, dx = 0, dy = 0) {
  const a = node.attributes;
  const width = widthOf(node);
  const turn = a.transform?.match(/translate\(([-\d.]+),([-\d.]+)\) rotate\(([-\d.]+)\)/);
  if (!turn) {
    const left = a.x + dx - width * SHIFT[a["text-anchor"] ?? "start"];
    return [{ left: left - 1, right: left + width + 1, top: a.y + dy - SIZE * 0.76, bottom: a.y + dy + SIZE * 0.22 }];
  }
  const [x, y, angle] = turn.slice(1).map(Number);
  const [cos, sin] = [Math.cos((angle * Math.PI) / 180), Math.sin((angle * Math.PI) / 180)];
  return Array.from({ length: Math.ceil(width / 6) }, (_, i) => {
    const [along, over] = [6 * i + 3 - width / 2, a.dy - 4];
    const [px, py] = [x + cos * along - sin * over, y + sin * along + cos * over];
    return { left: px - 4, right: px + 4, top: py - 5, bottom: py + 5 };
  });
}

const meets = (some, taken) => some.some((a) => taken.some((b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom));
const within = ([box], width, height) => box.left >= -2 && box.right <= width + 2 && box.top >= 0 && box.bottom <= height;

const isText = (node) => node.tag === "text";
const isLeader = (node) => /il-leader/.test(node.attributes?.class ?? "");

function nodesIn(nodes, wanted, out = []) {
  for (const node of nodes) {
    if (typeof node !== "object") continue;
    if (wanted(node)) out.push(node);
    else nodesIn(node.children, wanted, out);
  }
  return out;
}

// A leader as a row of small boxes, and the key of the words it leads to.
function leaderOf(node) {
  const [ax, ay, bx, by] = node.attributes.d.match(/[-\d.]+/g).map(Number);
  const steps = Math.max(1, Math.floor(Math.hypot(bx - ax, by - ay) / 3));
  const boxes = Array.from({ length: steps }, (_, i) => [ax + ((bx - ax) * i) / steps, ay + ((by - ay) * i) / steps]).map(([x, y]) => ({ left: x - 1, right: x + 1, top: y - 1, bottom: y + 1 }));
  return { node, boxes, to: node.attributes.key.replace(/-leader$|l$/, (end) => (end === "l" ? "" : "l")) };
}

function clearWords(nodes, width, height) {
  const taken = [];
  const gone = new Set();
  const leaders = nodesIn(nodes, isLeader).map(leaderOf);
  const texts = nodesIn(nodes, isText).map((node, i) => ({ node, i, rank: rankOf(node) })).sort((a, b) => a.rank - b.rank || a.i - b.i);
  for (const { node, rank } of texts) {
    const shifts = node.attributes.transform || rank <= 1 || rank === 3 ? SHIFTS.slice(0, 1) : SHIFTS;
    const led = rank < 4 ? [] : leaders.filter(({ to }) => to !== node.attributes.key).flatMap(({ boxes }) => boxes); // no leader runs through them
    const shift = shifts.find(([dx, dy], i) => !meets(boxesOf(node, dx, dy), taken) && !meets(boxesOf(node, dx, dy), led) && (i === 0 || within(boxesOf(node, dx, dy), width, height)));
    if (!shift) {
      gone.add(node);
      continue;
    }
    if (shift !== SHIFTS[0]) node.attributes = { ...node.attributes, x: node.attributes.x + shift[0], y: node.attributes.y + shift[1] };
    taken.push(...boxesOf(node));
  }
  const kept = texts.filter(({ node }) => !gone.has(node)).map(({ node }) => [node.attributes.key, boxesOf(node)]);
  const useless = ({ to, boxes }) => !kept.some(([key]) => key === to) || kept.some(([key, room]) => key !== to && meets(room, boxes));
  leaders.filter(useless).forEach(({ node }) => gone.add(node)); // nothing at its end, or words in its way that stay
  return gone.size ? withoutWords(nodes, gone) : nodes;
}

const withoutWords = (nodes, gone) => nodes.filter((node) => !gone.has(node)).map((node) => (typeof node === "object" && node.tag === "g" ? { ...node, children: withoutWords(node.children, gone) } : node));
