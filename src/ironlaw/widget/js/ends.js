// Lines carry their names at their ends: beside the plot where the picture is wide enough, moved apart where lines meet. On a phone the
// legend names them.

const WIDE = 560; // px
const APART = 16; // px between two names

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

// Names behind the ends of the lines, from the top; each as near its line as the one above it allows.
function tailLabels({ ending, box, taken }) {
  const sorted = ending.map(({ mark, key, at }) => ({ mark, key, px: at.at(-1)[0], y: at.at(-1)[1] })).sort((a, b) => Math.round(a.y / APART) - Math.round(b.y / APART) || (a.y > box.bottom - APART ? a.px - b.px : b.px - a.px)); // of ends on one level the left one's name moves away, so that no leader runs through it
  let last = -Infinity;
  const places = sorted.map((item) => (last = Math.max(item.y, box.top + 4, last + APART)));
  for (let i = places.length - 1, most = box.bottom - 2; i >= 0; i -= 1, most = places[i + 1] - APART) places[i] = Math.min(places[i], most);
  return sorted.flatMap(({ mark, key, px, y }, i) => {
    const held = taken.find((box) => box.weight > 1 && box.left < px && box.right > px + 9 && box.top < y && box.bottom > y); // a point that can be moved, with its arrow heads
    const [x, level] = [held ? held.right + 3 : px + 9, places[i]];
    taken.push(boxOf(x, level + 4.5, mark.end, "start", Boolean(mark.emphasis)));
    const words = h("text", { key: `${key}e`, class: `il-over il-tail c-${mark.colour ?? "ink"} ${mark.emphasis ? "il-strong" : ""}`, x, y: level + 4.5 }, mark.end);
    return Math.abs(level - y) > 5 ? [h("path", { key: `${key}el`, class: `il-leader c-${mark.colour ?? "ink"}`, d: `M${px.toFixed(1)},${y.toFixed(1)}L${x - 2},${level.toFixed(1)}` }), words] : [words];
  });
}
