// What can be pointed at, focused or dragged, as an invisible layer over the drawing. One stop for Tab, arrows go on from there.

const REACH = 14; // px round a small mark that still take hold of it: targets are at least 24 wide

function targetsView(targets, id, plan, size, ctx) {
  const { ui } = ctx;
  const focus = Math.min(ui.local[`at:${id}`] ?? 0, targets.length - 1);
  const detail = (item) => (item.mark.hover ?? []).flat().filter(Boolean).join(" ");
  const nodes = targets.map((item, i) => {
    const box = enlarge(item.target);
    return h("rect", {
      key: item.key, class: `il-target ${item.mark.drag ? `il-drag-${item.mark.drag.axis}` : ""} ${item.mark.opens ? "il-opens" : ""}`, x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top, rx: 3,
      after: (node) => items.set(node, item), tabindex: i === focus ? 0 : -1, role: item.mark.opens ? "link" : "img", "aria-label": [item.mark.name ?? item.mark.label, detail(item), item.mark.drag && "Shift with an arrow key moves it"].filter(Boolean).join(": "),
      onfocus: (event) => point(item, event.currentTarget, ui), onblur: () => hideTip(ui),
    });
  });
  const root = (event) => event.currentTarget;
  return h("svg", {
    key: "targets", class: "il-targets", role: "group", "aria-label": `${plan.figure.title}: ${targets.length} values. Arrow keys go from one to the next.`, ...size,
    onpointermove: (event) => {
      const i = nearest(event, targets, root(event));
      if (i < 0) hideTip(ui);
      else point(targets[i], root(event).children[i], ui);
    },
    onpointerleave: () => hideTip(ui),
    onpointerdown: (event) => {
      const i = nearest(event, targets, root(event));
      if (i < 0) return;
      point(targets[i], root(event).children[i], ui);
      if (targets[i].mark.drag) drag(event, targets[i].mark.drag, plan, ctx);
    },
    onclick: (event) => {
      const i = nearest(event, targets, root(event));
      if (i >= 0 && targets[i].mark.opens) location.assign(targets[i].mark.opens);
    },
    onkeydown: (event) => (event.key === "Enter" && items.get(event.target)?.mark.opens && location.assign(items.get(event.target).mark.opens)) || nudge(event, targets, ctx) || step(event, targets.length, id, ctx),
  }, nodes);
}

const items = new WeakMap(); // what each target tells now

const enlarge = ({ left, right, top, bottom }) => {
  const [w, t] = [Math.max(0, 24 - (right - left)) / 2, Math.max(0, 24 - (bottom - top)) / 2];
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
    const rank = { point: 0, line: 4, rule: 6, dot: 0, bar: 8 }[mark.type] ?? 9;
    if (far <= REACH && far + rank < best.cost) best = { i, cost: far + rank };
  });
  return best.i;
}

function step(event, count, id, ctx) {
  const at = ctx.ui.local[`at:${id}`] ?? 0;
  const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: count - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  const next = Math.max(0, Math.min(count - 1, to));
  ctx.ui.local[`at:${id}`] = next;
  event.currentTarget.children[next].focus({ preventScroll: true });
  ctx.redraw();
}
