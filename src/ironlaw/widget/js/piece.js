// One piece into one element, drawn again whenever Python or the learner changes something.

const TOGETHER = 60; // ms: an answer that comes sooner draws the dial that was turned too, and the browser draws once
const MOVING = 300; // ms: answers this close together are one movement, and are shown as they come, without a transition

function render({ model, el, signal }) {
  const root = document.createElement("div");
  root.className = "il-piece";
  const tip = document.createElement("div");
  tip.className = "il-tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true"); // what it says is also in the name of what it belongs to
  const home = document.createElement("div");
  home.className = "il-home";
  home.append(root, tip);
  home.addEventListener("keydown", (event) => event.key === "Escape" && hideTip(ui));
  el.append(home);
  const ui = { id: unique("piece"), local: {}, tip, widths: new Map(), drawn: new Map(), drawings: new WeakMap(), tall: new Set(), ends: [] };
  const view = views(() => line.view());
  const later = window.requestIdleCallback ?? setTimeout;
  let frame = 0;
  let late = 0;
  let rest = 0;
  let last = -MOVING;
  let moving = "";
  const draw = () => {
    frame = 0;
    late = clearTimeout(late);
    rest = clearTimeout(rest);
    const began = performance.now();
    const renderer = RENDERERS[model.get("kind")];
    patch(root, renderer({ spec: model.get("spec") ?? {}, state: line.state, view: view(), line, ui, redraw }), ui.pictureFirst && !pointed());
    const named = `il-piece il-${model.get("kind")} ${moving}`;
    if (root.className !== named) root.className = named;
    refreshTip(ui);
    // for tests and benchmarks: which answer is on screen, and what drawing it took
    root.dataset.seq = view().seq ?? 0;
    root.dataset.ms = (performance.now() - began).toFixed(1);
  };
  // somebody holds a mark, has it in focus, or reads what it tells
  const pointed = () => ui.held || !tip.hidden || Boolean(root.getRootNode().activeElement?.closest(".il-targets"));
  const redraw = () => {
    frame ||= requestAnimationFrame(draw);
  };
  // behind the frame that shows the picture
  const drawRest = () => {
    frame = 0;
    clearTimeout(rest);
    rest = setTimeout(draw);
  };
  const drawLate = () => {
    late ||= setTimeout(redraw, TOGETHER);
  };
  // a question is drawn at once, so that a quick Tab finds the button that the answer has just enabled
  const line = link(model, () => (model.get("kind") === "instrument" ? drawLate() : draw()), () => onView());
  // An answer is drawn at once, not with the next frame: that is half a frame less between dial and picture, and there
  // is never more than one answer under way.
  const onView = () => {
    line.onAnswer();
    cancelAnimationFrame(frame);
    moving = performance.now() - last < MOVING ? "il-moving" : "";
    last = performance.now();
    ui.pictureFirst = Boolean(moving);
    draw();
    ui.pictureFirst = false;
    if (moving) frame = requestAnimationFrame(drawRest);
    model.onView?.(line.view()); // where the page itself goes along, its address say
  };
  let restoring = 0;
  const onSpec = () => {
    // a new spec may come with a new state just behind it; only then is it known whether the kept dials differ
    clearTimeout(restoring);
    restoring = setTimeout(line.restore, 60);
    redraw();
  };
  line.onAhead = (next) => later(() => drawAhead(view.read(next).figures, { spec: model.get("spec") ?? {}, state: line.state, view: view(), line, ui, redraw }));
  model.on("change:view", onView);
  model.on("change:spec", onSpec);
  model.on("change:state", line.onState);
  // each picture is drawn for the room it has
  const watch = new ResizeObserver((entries) => {
    for (const entry of entries) {
      const [id, width] = [entry.target.dataset.figure, Math.floor(entry.contentRect.width)];
      if (!width || ui.widths.get(id) === width) continue;
      ui.widths.set(id, width).set(entry.target.dataset.room, width);
      redraw();
    }
  });
  const watched = new WeakSet(); // observing twice would report twice
  ui.watch = (node) => {
    if (!watched.has(node)) watch.observe(node);
    watched.add(node);
  };
  draw();
  typeface.then(() => {
    ui.drawn.clear();
    ui.drawings = new WeakMap();
    redraw();
  });
  line.restore();

  const stop = () => {
    cancelAnimationFrame(frame);
    clearTimeout(late);
    clearTimeout(rest);
    clearTimeout(restoring);
    watch.disconnect();
    line.stop();
    for (const end of ui.ends) end();
    model.off("change:view", onView);
    model.off("change:spec", onSpec);
    model.off("change:state", line.onState);
    home.remove();
  };
  signal?.addEventListener("abort", stop);
  return stop;
}
