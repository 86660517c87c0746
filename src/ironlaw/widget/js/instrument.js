// Dials, pictures, readouts. While it is locked there is only an outline and the reason: no figure is in the page.

function instrumentPiece(ctx) {
  const { spec, view, ui } = ctx;
  const title = spec.title && h("h3", { key: "title", class: "il-title", id: `${ui.id}-title` }, spec.title);
  const named = spec.title ? { "aria-labelledby": `${ui.id}-title` } : { "aria-label": "Instrument" };
  if (spec.locked) {
    return h("section", { key: "locked", class: "il-locked", ...named },
      title, h("p", { class: "il-locked-why" }, padlock(), rich("span", {}, spec.locked === true ? "Commit a prediction to unlock." : spec.locked)));
  }
  const stale = Boolean(view.error) && !view.figures;
  if (!stale) ui.shown = view;
  const shown = { ...ctx, view: { ...ui.shown, error: view.error } };
  announce(shown);
  const dials = spec.dials?.length
    ? h("form", { key: "dials", class: "il-dials", "aria-label": spec.title ? `Dials: ${spec.title}` : "Dials", autocomplete: "off", onsubmit: (event) => event.preventDefault() },
        spec.dials.map((dial) => ({ ...dial, ...view.dials?.[dial.id] })).filter((dial) => !dial.hidden).map((dial) => dialView(dial, ctx)), orphan(ctx))
    : null;
  const { figures, cards, formula, banner, note, after } = shown.view;
  return h("section", { key: "open", class: `il-desk ${stale ? "il-stale" : ""} ${dials ? "" : "il-bare"}`, ...named },
    title,
    dials,
    h("div", { key: "stage", class: "il-stage" },
      bannerView(banner),
      figures?.length ? h("div", { key: "figures", class: "il-figures" }, figures.flatMap((figure, i) => [figureView(figure, shown, i), toolsView(figure, shown)])) : null,
      noteView(note), cardsView(cards, shown), formulaView(formula), noteView(after, "after")),
    h("p", { key: "live", class: "il-hearing", role: "status", after: (node) => { ui.live = node; } }));
}

// An error that no dial can be blamed for.
function orphan({ view, line, spec }) {
  if (!view.error) return null;
  const at = view.error.dial ?? line.touched;
  return spec.dials.some((dial) => dial.id === at) ? null : h("p", { key: "error", class: "il-error", role: "alert" }, view.error.message ?? String(view.error));
}

const padlock = () => h("svg", { class: "il-icon", viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" },
  h("path", { d: "M4.5 7V5a3.5 3.5 0 0 1 7 0v2", fill: "none", stroke: "currentColor", "stroke-width": 1.6 }), h("rect", { x: 3, y: 7, width: 10, height: 7, rx: 1.5, fill: "currentColor" }));
