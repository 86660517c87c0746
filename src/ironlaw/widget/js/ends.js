// Lines carry their names at their ends: beside the plot where the picture is wide enough, moved apart where lines meet. On a phone the
// legend names them.

const WIDE = 560; // px
const APART = 16; // px between two names
const THROUGH = 24; // square px of other lines, through a name: it goes elsewhere

// How much room the names take beside the plot; 0: none, so that the legend names the lines.
function tailRoom(figure, width) {
  const names = figure.marks.filter((mark) => mark.end).map((mark) => measure(mark.end));
  if (!names.length || width < WIDE) return 0;
  const room = Math.max(...names) + (figure.marks.some((mark) => mark.drag && mark.type === "point") ? 23 : 14); // arrow heads of a point at the end take some
  return room < 0.3 * width ? room : 0;
}

// What the legend still has to say.
function legendOf(figure, width) {
  if (!tailRoom(figure, width)) return figure.legend ?? [];
  const named = new Set(figure.marks.map((mark) => mark.end));
  return (figure.legend ?? []).filter((item) => !named.has(item.label));
}

// Names behind the ends of the lines, from the top; each as near its line as the one above it allows. Where other lines
// would run through the name of one that ends inside the plot, it stands elsewhere around the end.
function tailLabels(plan) {
  const { ending, box, taken, width } = plan;
  const ends = ending.map(({ mark, key, at }) => ({ mark, key, px: at.at(-1)[0], y: at.at(-1)[1] }));
  const held = (px, y) => taken.find((box) => box.weight > 1 && box.left < px && box.right > px + 9 && box.top < y && box.bottom > y); // a point that can be moved, with its arrow heads
  const start = ({ px, y }) => (held(px, y)?.right ?? px + 6) + 3;
  const struck = ({ mark, px, y }) => {
    const behind = boxOf(start({ px, y }), Math.min(y, box.bottom - 2) + 4.5, mark.end, "start", Boolean(mark.emphasis));
    return behind.right < box.right && taken.reduce((sum, other) => sum + overlap(behind, other), 0) > THROUGH;
  };
  const led = ends.filter(struck);
  const sorted = ends.filter((item) => !led.includes(item)).sort((a, b) => Math.round(a.y / APART) - Math.round(b.y / APART) || (a.y > box.bottom - APART ? a.px - b.px : b.px - a.px)); // of ends on one level the left one's name moves away, so that no leader runs through it
  const dress = (mark) => `il-over il-tail c-${mark.colour ?? "ink"} ${mark.emphasis ? "il-strong" : ""}`;
  let last = -Infinity;
  const places = sorted.map((item) => (last = Math.max(item.y, box.top + 4, last + APART)));
  for (let i = places.length - 1, most = box.bottom - 2; i >= 0; i -= 1, most = places[i + 1] - APART) places[i] = Math.min(places[i], most);
  const behind = sorted.flatMap(({ mark, key, px, y }, i) => {
    const [x, level] = [start({ px, y }), places[i]];
    taken.push(boxOf(x, level + 4.5, mark.end, "start", Boolean(mark.emphasis)));
    const words = h("text", { key: `${key}e`, class: dress(mark), x, y: level + 4.5 }, mark.end);
    return Math.abs(level - y) > 5 ? [h("path", { key: `${key}el`, class: `il-leader c-${mark.colour ?? "ink"}`, d: `M${px.toFixed(1)},${y.toFixed(1)}L${x - 2},${level.toFixed(1)}` }), words] : [words];
  });
  const around = led.flatMap(({ mark, key, px, y }) => {
    const at = placeAround(px, Math.min(y, box.bottom), 4, mark.end, Boolean(mark.emphasis), taken, { left: box.left, right: width, top: box.top, bottom: box.bottom });
    const words = h("text", { key: `${key}e`, class: dress(mark), x: at.x, y: at.y, "text-anchor": at.anchor }, mark.end);
    return at.far ? [leader(`${key}el`, px, Math.min(y, box.bottom), 2, at.box, taken), words] : [words];
  });
  return [...behind, ...around];
}
