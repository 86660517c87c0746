// Things drawn one by one, however many: all of a kind are one path, so that a thousand cost no more than one.

const PERSON = 1.9; // a person's height, of the width

function thing(shape, x, y, w, t) {
  if (shape === "circle") return shapePath("circle", x + w / 2, y + t / 2, Math.min(w, t, 6) / 2);
  if (shape !== "person") return `M${x.toFixed(1)},${y.toFixed(1)}h${w.toFixed(1)}v${t.toFixed(1)}h${(-w).toFixed(1)}z`;
  const wide = Math.min(w, t / PERSON);
  const [tall, middle] = [wide * PERSON, x + w / 2];
  const [head, top] = [wide * 0.26, y + (t - wide * PERSON) / 2];
  const neck = top + 2.35 * head;
  const body = `M${(middle - wide / 2).toFixed(1)},${(top + tall).toFixed(1)}V${(neck + wide / 2).toFixed(1)}a${(wide / 2).toFixed(1)},${(wide / 2).toFixed(1)} 0 0 1 ${wide.toFixed(1)},0V${(top + tall).toFixed(1)}z`;
  return shapePath("circle", middle, top + head, head) + body;
}

// `grid`: columns and rows between x0 and x1, and y0 and y1 or in the row y; `count` of them from `start` on, line by line, or `down`
// column by column.
MARKS.cells = (mark, key, plan) => {
  const { x, y, rows, box } = plan;
  const [columns, lines] = mark.grid;
  const [left, right] = [x.at(mark.x0), x.at(mark.x1)];
  const middle = rows ? barLevel(mark, plan) : 0;
  const thick = rows ? (plan.above ? y.step - 26 : y.step * 0.86) : 0;
  const [top, bottom] = rows ? [middle - thick / 2, middle + thick / 2] : [y.at(mark.y1), y.at(mark.y0)];
  const [w, t] = [(right - left) / columns, (bottom - top) / lines];
  const gap = Math.min(w, t) * (mark.shape === "person" ? 0.16 : 0.18);
  let d = "";
  for (let i = mark.start ?? 0; i < (mark.start ?? 0) + mark.count; i += 1) {
    const [column, line] = mark.down ? [Math.floor(i / lines), i % lines] : [i % columns, Math.floor(i / columns)];
    d += thing(mark.shape, left + w * column + gap / 2, top + t * line + gap / 2, w - gap, t - gap);
  }
  const shapes = [h("path", { key, class: `${classOf(mark, plan, "bar")} ${mark.hollow ? "il-outline" : ""}`, d })];
  if (mark.label) plan.later.push(() => cellsLabel(mark, key, left, right, top, bottom, plan));
  plan.taken.push({ left, right, top, bottom });
  const each = mark.down ? lines : columns;
  const [first, last] = [mark.start ?? 0, (mark.start ?? 0) + mark.count - 1].map((i) => Math.floor(i / each));
  if (mark.down) return { shapes, target: { left: left + w * first, right: left + w * (last + 1), top, bottom } };
  return { shapes, target: { left, right, top: top + t * first, bottom: Math.min(top + t * (last + 1), box.bottom) } };
};

// Words over the whole of them.
function cellsLabel(mark, key, left, right, top, bottom, plan) {
  const place = placeAround((left + right) / 2, (top + bottom) / 2, (bottom - top) / 2, mark.label, Boolean(mark.emphasis), plan.taken, { left: 0, right: plan.width, top: plan.box.top - 14, bottom: plan.box.bottom + 14 });
  return h("text", { key: `${key}l`, class: `il-over c-${mark.colour ?? "ink"} ${mark.emphasis ? "il-strong" : ""}`, x: place.x, y: place.y, "text-anchor": place.anchor }, mark.label);
}
