// What can be pointed at, focused or dragged, as an invisible layer over the drawing. One stop for Tab, arrows go on from there.

const REACH = 14; // px round a small mark that still take hold of it
const FINGER = 22; // of a finger
const LEAST = 24; // px that a target is wide and high
const HANDLE = 32; // one that can be moved

function targetsView(targets, id, plan, size, ctx) {
  const { ui } = ctx;
  const holds = targets.map(({ mark }) => holdsOf(mark, ctx));
  const told = targets.map((_, i) => i).filter((i) => !holds[i].length); // arrows go over these; a mark that can be moved is a stop of its own
  const focus = told[Math.min(ui.local[`at:${id}`] ?? 0, told.length - 1)];
  const detail = (item) => (item.mark.hover ?? []).flat().filter(Boolean).join(" ");
  const values = (item) => (item.mark.hover ?? []).filter(Array.isArray); // without the sources
  const nodes = targets.map((item, i) => {
    const box = enlarge(item.target, holds[i].length ? HANDLE : LEAST);
    const about = holds[i].length ? { ...sliderOf(item.mark, holds[i], values(item)), tabindex: 0 }
      : { role: item.mark.opens ? "link" : "img", "aria-label": [item.mark.name ?? item.mark.label, detail(item)].filter(Boolean).join(": "), tabindex: i === focus ? 0 : -1 };
    const way = holds[i].length > 1 ? "both" : holds[i][0]?.hold.axis;
    return h("rect", {
      key: item.key, class: `il-target ${way ? `il-drag il-drag-${way}` : ""} ${item.mark.opens ? "il-opens" : ""}`, x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top, rx: 3,
      after: (node) => items.set(node, item), ...about, onfocus: (event) => point(item, event.currentTarget, ui), onblur: () => hideTip(ui),
    });
  });
  const root = (event) => event.currentTarget;
  const movable = holds.filter((each) => each.length).length;
  const words = [told.length && `${told.length} values. Arrow keys go from one to the next.`, movable && `${movable} can be moved.`].filter(Boolean).join(" ");
  return h("svg", {
    key: "targets", late: true, class: "il-targets", role: "group", "aria-label": `${plan.figure.title}: ${words}`, "data-down": plan.rows ? "true" : null, ...size,
    onpointermove: (event) => {
      if (ui.held) return;
      const i = nearest(event, targets, root(event));
      if (i < 0) hideTip(ui);
      else point(targets[i], root(event).children[i], ui);
    },
    onpointerleave: () => ui.held || hideTip(ui),
    onpointerdown: (event) => {
      const i = nearest(event, targets, root(event));
      if (i < 0) return;
      point(targets[i], root(event).children[i], ui);
      if (!holds[i].length) return;
      root(event).children[i].focus({ preventScroll: true }); // arrow keys go on from where it was let go
      drag(event, targets[i].mark, plan, ctx);
    },
    onclick: (event) => {
      const i = nearest(event, targets, root(event));
      if (i >= 0 && targets[i].mark.opens) location.assign(fromRoot(targets[i].mark.opens));
    },
    onkeydown: (event) => {
      const mark = items.get(event.target)?.mark;
      if (event.key === "Enter" && mark?.opens) location.assign(fromRoot(mark.opens));
      else if (!mark || !nudge(event, mark, ctx)) step(event, told, id, ctx);
    },
  }, nodes);
}

const items = new WeakMap(); // what each target tells now

const enlarge = ({ left, right, top, bottom }, least) => {
  const [w, t] = [Math.max(0, least - (right - left)) / 2, Math.max(0, least - (bottom - top)) / 2];
  return { left: left - w, right: right + w, top: top - t, bottom: bottom + t };
};

function point(item, node, ui) {
  if (item.mark.hover?.length) showTip(ui, node, item.mark.name ?? item.mark.label, item.mark.hover);
}

// After a dial has moved: the box tells what its mark tells now, at its new place; without its mark it goes.
function refreshTip(ui) {
  if (!ui.tip || ui.tip.hidden) return;
  if (!ui.tipped?.isConnected) hideTip(ui);
  else if (items.has(ui.tipped)) point(items.get(ui.tipped), ui.tipped, ui);
}

// The smallest mark within reach: a point lies before the bar or the rule behind it.
function nearest(event, targets, root) {
  const frame = root.getBoundingClientRect();
  const [px, py] = [event.clientX - frame.left, event.clientY - frame.top];
  let best = { i: -1, cost: Infinity };
  targets.forEach(({ target: t, mark }, i) => {
    const far = t.line ? Math.min(...t.line.map(([a, b]) => Math.hypot(a - px, b - py))) : Math.hypot(Math.max(t.left - px, 0, px - t.right), Math.max(t.top - py, 0, py - t.bottom));
    const rank = mark.drag ? -1 : { point: 0, line: 4, rule: 6, dot: 0, bar: 8 }[mark.type] ?? 9;
    if (far <= (event.pointerType === "touch" ? FINGER : REACH) && far + rank < best.cost) best = { i, cost: far + rank };
  });
  return best.i;
}

function step(event, told, id, ctx) {
  const at = ctx.ui.local[`at:${id}`] ?? 0;
  const last = told.length - 1;
  const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: last }[event.key];
  if (to === undefined || last < 0) return;
  event.preventDefault();
  const next = Math.max(0, Math.min(last, to));
  ctx.ui.local[`at:${id}`] = next;
  event.currentTarget.children[told[next]].focus({ preventScroll: true });
  ctx.redraw();
}
