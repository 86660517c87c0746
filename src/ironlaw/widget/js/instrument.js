// Dials, pictures, readouts. While it is locked there is only an outline and the reason: no figure is in the page.

function instrumentPiece(ctx) {
  const { spec, view, ui, line } = ctx;
  const title = spec.title && h("h3", { key: "title", class: "il-title", id: `${ui.id}-title` }, spec.title);
  const name = spec.title ? { "aria-labelledby": `${ui.id}-title` } : { "aria-label": "Instrument" };
  if (spec.locked) {
    return h("section", { key: "locked", class: "il-locked", ...name },
      title, h("p", { class: "il-locked-why" }, padlock(), rich("span", {}, spec.locked === true ? "Commit a prediction to unlock." : spec.locked)));
  }
  const slow = Boolean(line.slow && spec.slow);
  const stale = slow || (Boolean(view.error) && !view.figures);
  if (view.figures || !view.error) ui.lastView = view;
  if (view.motions) ui.motions = view.motions; // they come when the dials rest
  const drawing = { ...ctx, view: { ...ui.lastView, error: view.error }, apart: !spec.lead };
  announce(drawing);
  const dials = spec.dials?.length
    ? h("form", { key: "dials", class: "il-dials", "aria-label": spec.title ? `Dials: ${spec.title}` : "Dials", autocomplete: "off", onsubmit: (event) => event.preventDefault() },
        spec.task ? rich("p", { key: "task", class: "il-task" }, spec.task) : null, dialsView(spec.dials.map((dial) => ({ ...dial, ...view.dials?.[dial.id] })).filter((dial) => !dial.hidden), ctx), orphan(ctx))
    : null;
  const { cards, formula, banner, note, after } = drawing.view;
  const figures = !spec.lead ? [] : (drawing.view.figures ?? []).map((figure, i) => [figureView(figure, drawing, i), toolsView(figure, drawing)]);
  const pictures = (key, some) => (some.length ? h("div", { key, class: `il-figures il-${key}` }, some) : null);
  const readouts = [cardsView(cards, drawing), formulaView(formula), noteView(after, "after")];
  const live = h("p", { key: "live", class: "il-hearing", role: "status", after: (node) => { ui.live = node; } });
  const dress = { key: "open", ...name };
  const mood = `${stale ? "il-stale" : ""} ${dials ? "" : "il-bare"}`;
  if (!spec.lead) {
    const { tabs, shown } = tabsView(drawing);
    const tall = shown.some((figure) => ui.tall.has(figure.id)); // too high to stay in view over the dials
    return h("section", { ...dress, class: `il-desk il-one ${mood}` }, title, reasonView(spec), dials,
      h("div", { key: "show", class: `il-show ${tall ? "il-tall" : ""}` }, tabs,
        shown.length ? h("div", { key: "figures", class: "il-figures", ...panelOf(tabs, shown, ui) }, shown.map((figure, i) => figureView(figure, drawing, i))) : null),
      offersView(ctx), inTurn(ui, "out", () => h("div", { key: "out", class: "il-readouts" }, bannerView(banner, ctx), cardsView(cards, drawing), (ui.motions ?? []).map((motion) => motionView(motion, ui)), formulaView(formula), noteView(note))),
      moreView(shown, after, drawing), live);
  }
  // the first picture leads, and readouts have the whole width
  return h("section", { ...dress, class: `il-lead ${mood}`, "aria-busy": slow ? "true" : null }, title,
    h("div", { key: "desk", class: "il-desk" },
      h("div", { key: "near", class: "il-near" }, bannerView(banner, ctx), slow && h("p", { key: "slow", class: "il-hint", role: "status" }, spec.slow),
        figures.length ? pictures("first", figures.slice(0, 1)) : h("p", { key: "empty", class: "il-hint" }, "Nothing to draw yet."), noteView(note), dials),
      h("div", { key: "stage", class: "il-stage" }, pictures("figures", figures.slice(1)))),
    h("div", { key: "under", class: "il-under" }, readouts, sectionsView(ctx)), live);
}

// Why the answer that was committed is right or wrong, on one screen with the mark and the truth.
const reasonView = ({ reason }) => reason && rich("div", { key: "reason", class: `il-reason il-feedback ${reason.right ? "il-right" : ""}` }, reason.text);

// Designs of earlier labs, one click away, under the picture that answers the question: what each changes is said before anybody clicks.
function offersView({ spec, line }) {
  if (!spec.offers?.length) return null;
  return h("div", { key: "offers", class: "il-offers" }, spec.offers.map((offer, i) => h("p", { key: i, class: "il-offer" },
    h("button", { type: "button", class: "il-button", onclick: () => line.put(offer.dials) }, offer.label), h("span", { class: "il-hint" }, offer.note))));
}

// While a dial moves the picture comes first, and what is under it a frame later: laying out a formula takes as long as the picture.
function inTurn(ui, name, make) {
  if (!ui.pictureFirst || !ui.drawn.has(name)) ui.drawn.set(name, make());
  return ui.drawn.get(name);
}

// Reference under the readouts: sortable tables, and HTML in a fold. They come when the dials rest; until then the last ones stay.
function sectionsView(ctx) {
  const { ui, view } = ctx;
  if (view.sections) ui.sections = view.sections;
  return (ui.sections ?? []).map((section) => {
    const body = [section.note && h("p", { key: "note", class: "il-hint" }, section.note), section.table && h("div", { key: "table" }, sectionTable(section, ctx)),
      section.html && rich("div", { key: "html", class: "il-scroll", tabindex: 0, role: "region", "aria-label": section.title }, section.html)];
    return section.folded
      ? h("details", { key: section.id, class: "il-section", "data-section": section.id }, h("summary", {}, section.title), body)
      : h("section", { key: section.id, class: "il-section", "data-section": section.id, "aria-label": section.title }, h("h2", {}, section.title), body);
  });
}

function sectionTable({ id, table }, { ui, redraw }) {
  const key = `grid:${id}`;
  const state = (ui.local[key] ??= gridStart(table));
  const set = (change) => {
    ui.local[key] = { ...state, ...change };
    redraw();
  };
  return memoize(ui.drawn, key, [table, state], () => h("div", { class: "il-grid-table" }, gridView(table, state, set, `${ui.id}-${id}`)));
}

// An error that no dial can be blamed for.
function orphan({ view, line, spec }) {
  if (!view.error) return null;
  const at = view.error.dial ?? line.touched;
  return spec.dials.some((dial) => dial.id === at) ? null : h("p", { key: "error", class: "il-error", role: "alert" }, view.error.message ?? String(view.error));
}

const padlock = () => h("svg", { class: "il-icon", viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" },
  h("path", { d: "M4.5 7V5a3.5 3.5 0 0 1 7 0v2", fill: "none", stroke: "currentColor", "stroke-width": 1.6 }), h("rect", { x: 3, y: 7, width: 10, height: 7, rx: 1.5, fill: "currentColor" }));
