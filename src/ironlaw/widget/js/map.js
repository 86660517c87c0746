// The concept map: nodes in layers, edges between them that pass through the gaps of a layer and never behind a node; where there is
// little room, an outline of the same nodes. One stop for Tab; arrows walk along the edges, Enter opens a node.

const NODE = { width: 158, least: 102, height: 68, across: 14, down: 46 };
const FEW = 6;
const ROW = { width: 420, least: 150, height: 40, down: 8, indent: 22, stem: 10, margin: 30 };

function mapPiece(ctx) {
  const { spec, view, ui } = ctx;
  const width = ui.widths.get("map") ?? 0;
  const path = spec.paths.find((way) => way.id === ui.local.path);
  return h("section", { class: "il-map-desk", "aria-label": "Concept map" },
    pathsView(ctx, path),
    h("div", { key: "plot", class: "il-map", "data-figure": "map", after: (node) => ui.watch(node, "map") }, width > 60 && view.nodes ? drawMap(ctx, width, path) : null),
    h("p", { key: "keys", class: "il-hint" }, "Arrow keys: down and up along the edges, left and right among neighbours; Enter opens a concept, Escape closes it. Shading and figure: mastery."),
    view.opened && openedView(ctx),
    view.error && h("p", { key: "error", class: "il-error", role: "alert" }, view.error.message));
}

function pathsView(ctx, path) {
  const { spec, ui, redraw } = ctx;
  const turn = (id) => () => {
    ui.local.path = ui.local.path === id ? null : id;
    redraw();
  };
  return h("div", { key: "paths", class: "il-paths" },
    h("div", { class: "il-palette", role: "group", "aria-label": "Marked paths" }, spec.paths.map((way) =>
      h("button", { key: way.id, type: "button", class: "il-preset", "aria-pressed": String(way === path), onclick: turn(way.id) }, way.label))),
    path && h("ol", { class: "il-path-steps" }, path.steps.map((step, i) => h("li", { key: i }, step.says))));
}

// A line a layer, or several where it is too long for one; an outline where hardly any would stand beside each other.
function placeNodes({ rows, edges }, width) {
  const most = Math.floor((width + NODE.across) / (NODE.least + NODE.across)); // beside each other
  if (most < FEW && rows.some((layer) => layer.length > most)) return outline(rows, edges, width);
  const places = new Map();
  const lines = rows.flatMap((layer) => inLines(layer, Math.ceil(layer.length / most)));
  lines.forEach((layer, i) => {
    const room = width / layer.length;
    const wide = Math.min(NODE.width, room - NODE.across);
    layer.forEach((id, k) => places.set(id, { x: room * (k + 0.5), y: i * (NODE.height + NODE.down), w: wide, h: NODE.height }));
  });
  return { places, height: lines.length * (NODE.height + NODE.down) - NODE.down + 8, parents: null };
}

// A layer that is too long, in so many lines of about the same length.
const inLines = (layer, count) => Array.from({ length: count }, (_, i) => layer.slice(Math.round((i * layer.length) / count), Math.round(((i + 1) * layer.length) / count)));

// Each node under the first that leads to it from a layer above, further in than that one. `parents`: node -> the node it stands under.
function outline(rows, edges, width) {
  const level = new Map(rows.flatMap((layer, i) => layer.map((id) => [id, i])));
  const parents = new Map();
  for (const { from, to } of edges) if (!parents.has(to) && level.get(from) < level.get(to)) parents.set(to, from);
  const deep = (id) => (parents.has(id) ? 1 + deep(parents.get(id)) : 0);
  const indent = Math.min(ROW.indent, (width - ROW.margin - ROW.least) / Math.max(1, ...[...level.keys()].map(deep))); // the innermost has room for its words
  const places = new Map();
  let y = 0;
  const put = (id, depth) => {
    const left = depth * indent;
    const w = Math.min(ROW.width, width - left - ROW.margin);
    places.set(id, { x: left + w / 2, y, w, h: ROW.height, row: true });
    y += ROW.height + ROW.down;
    for (const other of level.keys()) if (parents.get(other) === id) put(other, depth + 1);
  };
  for (const id of level.keys()) if (!parents.has(id)) put(id, 0);
  return { places, height: y - ROW.down + 8, parents };
}

function drawMap(ctx, width, path) {
  const { spec, view, ui } = ctx;
  const { places, height, parents } = placeNodes(spec, width);
  const stem = (edge) => parents?.get(edge.to) === edge.from;
  const gaps = parents ? null : gapsOf(places, width);
  const order = [...places.keys()];
  const focused = places.has(ui.local.node) ? ui.local.node : order[0];
  const near = (edge) => (ui.local.looking && (edge.from === focused || edge.to === focused) ? "il-near" : "");
  const steps = new Map();
  path?.steps.forEach((step, i) => steps.set(step.at, [...(steps.get(step.at) ?? []), i + 1]));
  const summary = `${order.length} concepts and ${spec.edges.length} edges${path ? `; marked: ${path.label}` : ""}.`;
  return [
    h("svg", { key: "edges", class: "il-edges", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Concept map: ${summary}` },
      spec.edges.filter((edge) => !parents || stem(edge) || near(edge)).map((edge) => h("path", {
        key: `${edge.from}-${edge.to}`, class: `il-edge ${near(edge)} ${path ? "il-faint" : ""}`, d: edgePath(places.get(edge.from), places.get(edge.to), stem(edge), gaps),
      })),
      path && path.steps.slice(1).map((step, i) => h("path", { key: `p${i}`, class: "il-edge il-on-path", d: edgePath(places.get(path.steps[i].at), places.get(step.at), false, gaps) }))),
    h("div", { key: "nodes", class: "il-nodes", style: `height:${height}px`, role: "group", "aria-label": "Concepts", onkeydown: (event) => walkMap(event, ctx, places) },
      order.map((id) => nodeView(id, places.get(id), ctx, focused, path, steps.get(id)))),
  ];
}

function nodeView(id, place, ctx, focused, path, steps) {
  const { view, ui, redraw } = ctx;
  const node = view.nodes[id];
  const classes = ["il-node", place.row ? "il-row-node" : "", node.mastery === null ? "il-to-come" : "", view.opened?.id === id ? "il-open-node" : "", path && !steps ? "il-faint" : "", steps ? "il-step-node" : ""];
  const look = (on) => () => {
    ui.local.looking = on;
    if (on) ui.local.node = id;
    redraw();
  };
  return h("button", {
    key: id, type: "button", class: classes.join(" "), "data-node": id, tabindex: id === focused ? 0 : -1, "aria-expanded": String(view.opened?.id === id),
    style: `left:${(place.x - place.w / 2).toFixed(1)}px;top:${place.y}px;width:${place.w.toFixed(1)}px;height:${place.h}px;--known:${((node.mastery ?? 0) * 45).toFixed(1)}%`,
    "aria-label": `${node.label}, ${node.words === "to come" ? node.words : `mastery ${node.words}`}${steps ? `, step ${steps.join(" and ")} of the path` : ""}`,
    onclick: () => openNode(ctx, id), onfocus: look(true), onblur: look(false),
  }, steps && h("span", { class: "il-step-mark", "aria-hidden": "true" }, steps.join(", ")), h("span", { class: "il-node-name" }, node.label), h("span", { class: "il-node-known" }, node.words));
}

// Where each layer can be passed: y of the layer -> the x between its nodes, and beside the first and the last.
function gapsOf(places, width) {
  const layers = new Map();
  for (const place of places.values()) layers.set(place.y, [...(layers.get(place.y) ?? []), place]);
  return new Map([...layers].map(([y, nodes]) => {
    const sides = nodes.sort((a, b) => a.x - b.x).map((node) => [node.x - node.w / 2, node.x + node.w / 2]);
    const between = sides.slice(1).map(([left], i) => (sides[i][1] + left) / 2);
    return [y, [Math.max(3, sides[0][0] - NODE.across / 2), ...between, Math.min(width - 3, sides.at(-1)[1] + NODE.across / 2)]];
  }));
}

// From the foot of one node to the head of the other, or the other way round where the edge leads up; straight through the gap of each
// layer on the way that lies nearest. In an outline: down a stem to a node that stands under the other, and through the right margin to
// any else.
function edgePath(a, b, stem, gaps) {
  if (a.row && stem) return `M${(a.x - a.w / 2 + ROW.stem).toFixed(1)},${a.y + a.h}V${b.y + b.h / 2}H${(b.x - b.w / 2).toFixed(1)}`;
  if (a.row) {
    const [ax, bx] = [a.x + a.w / 2, b.x + b.w / 2];
    const out = Math.max(ax, bx) + ROW.margin;
    return `M${ax.toFixed(1)},${a.y + a.h / 2}C${out},${a.y + a.h / 2} ${out},${b.y + b.h / 2} ${bx.toFixed(1)},${b.y + b.h / 2}`;
  }
  if (a.y === b.y) {
    const y = a.y + NODE.height;
    return `M${a.x.toFixed(1)},${y}C${a.x.toFixed(1)},${y + 30} ${b.x.toFixed(1)},${y + 30} ${b.x.toFixed(1)},${y}`;
  }
  const down = b.y > a.y;
  const layers = [...gaps.keys()].filter((y) => (down ? y > a.y && y < b.y : y < a.y && y > b.y)).sort((one, other) => (down ? one - other : other - one));
  let [x, y] = [a.x, down ? a.y + NODE.height : a.y];
  let path = `M${x.toFixed(1)},${y}`;
  const bend = (toX, toY) => {
    const middle = (y + toY) / 2; // both ends upright: the curve stays between two layers
    path += `C${x.toFixed(1)},${middle} ${toX.toFixed(1)},${middle} ${toX.toFixed(1)},${toY}`;
    [x, y] = [toX, toY];
  };
  for (const layer of layers) {
    const towards = x + ((b.x - x) * Math.abs(layer - y)) / Math.abs(b.y - y);
    const gap = gaps.get(layer).reduce((best, one) => (Math.abs(one - towards) < Math.abs(best - towards) ? one : best));
    bend(gap, down ? layer : layer + NODE.height);
    y = down ? layer + NODE.height : layer;
    path += `V${y}`;
  }
  bend(b.x, down ? b.y : b.y + NODE.height);
  return path;
}

function openNode(ctx, id) {
  const closing = ctx.view.opened?.id === id;
  ctx.ui.local.goTo = closing ? null : id;
  ctx.line.send({ open: closing ? null : id });
}

function walkMap(event, ctx, places) {
  const { spec, ui, redraw } = ctx;
  const id = event.target.closest("[data-node]")?.dataset.node;
  if (!id) return;
  if (event.key === "Escape") return ctx.line.send({ open: null });
  const here = places.get(id);
  const nearest = (ids) => ids.filter((other) => places.has(other)).sort((a, b) => Math.abs(places.get(a).x - here.x) - Math.abs(places.get(b).x - here.x))[0];
  const below = (from) => spec.edges.filter((edge) => edge.from === from).map((edge) => edge.to);
  const above = spec.edges.filter((edge) => edge.to === id).map((edge) => edge.from);
  const parent = above.includes(ui.local.from) ? ui.local.from : above[0];
  const order = [...places.keys()];
  const brothers = parent ? order.filter((other) => below(parent).includes(other)) : order;
  const beside = (step) => brothers[(brothers.indexOf(id) + step + brothers.length) % brothers.length];
  const to = { ArrowDown: () => nearest(below(id)), ArrowUp: () => parent, ArrowRight: () => beside(1), ArrowLeft: () => beside(-1), Home: () => order[0], End: () => order.at(-1) }[event.key]?.();
  if (to === undefined) return;
  event.preventDefault();
  if (event.key === "ArrowDown") ui.local.from = id;
  else if (event.key === "ArrowUp") ui.local.from = null;
  ui.local.node = to;
  event.currentTarget.querySelector(`[data-node="${to}"]`).focus();
  redraw();
}

function openedView(ctx) {
  const { view, ui, line } = ctx;
  const it = view.opened;
  const arrived = (node) => {
    if (ui.local.goTo !== it.id || !node.isConnected) return;
    ui.local.goTo = null;
    node.focus({ preventScroll: true });
    node.closest("div").scrollIntoView({ block: "nearest" });
  };
  const close = (event) => {
    const map = event.currentTarget.closest("section").querySelector(`[data-node="${it.id}"]`);
    line.send({ open: null });
    map?.focus();
  };
  const ask = () => {
    does(ctx, {});
    document.dispatchEvent(new CustomEvent("ironlaw:unfold", { detail: "cards" })); // the page shows them in place of the map
    document.getElementById("cards")?.scrollIntoView();
  };
  const keys = (event) => {
    if (event.key === "Escape") close(event);
  };
  return h("div", { key: "opened", class: "il-opened", onkeydown: keys, role: "region", "aria-label": it.label },
    h("h3", { class: "il-title", tabindex: -1, after: arrived }, it.label, it.days && h("span", { class: "il-quiet" }, ` ${it.days.includes("–") ? "days" : "day"} ${it.days}`)),
    h("p", {}, it.definition),
    h("p", {}, it.lab ? ["Learned in ", h("a", { href: it.lab.href }, it.lab.title), "."] : it.to_come ? "Comes with compilers; there are no cards about it yet." : "Asked here, in the review.", it.grade ? ` Mastery: ${view.nodes[it.id].words}, ${it.grade}.` : ""),
    it.edges.length ? h("ul", { class: "il-neighbours" }, it.edges.map((edge, i) => h("li", { key: i }, `${edge.way} `, h("button", { type: "button", class: "il-link-button", onclick: () => openNode(ctx, edge.to) }, edge.label), edge.says ? ` (${edge.says})` : ""))) : null,
    it.cards.length ? h("details", {}, h("summary", {}, `${it.cards.length} ${it.cards.length === 1 ? "card" : "cards"}`), h("ul", {}, it.cards.map((card) => h("li", { key: card.id }, `${card.label} · ${card.words}`)))) : null,
    h("div", { class: "il-act" }, it.cards.length ? h("button", { type: "button", class: "il-button il-primary", onclick: ask }, "Practise its cards now") : null, h("button", { type: "button", class: "il-button", onclick: close }, "Close")));
}
