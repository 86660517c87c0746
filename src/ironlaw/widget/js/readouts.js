// What stands round the picture: cards, the banner of a failed or passed design, the formula with its figures.

const GRADES = { good: "good", middling: "middling", bad: "poor" };
const BANNERS = { fail: "✕", good: "✓", warn: "!", ask: "?" };

function quantity(value, unit) {
  const heard = spoken(value);
  if (heard !== value) return [h("span", { class: "il-num", "aria-hidden": "true" }, value.replaceAll(" ", THIN)), h("span", { class: "il-hearing" }, heard)];
  const gap = unit && joined("", unit) !== unit ? "\u2009" : ""; // outside the unit, so that a unit on a line of its own begins where the line does
  return [h("span", { class: "il-num" }, value), gap && h("span", { class: "il-gap" }, gap), unit && h("span", { class: "il-unit" }, unit)];
}

function cardView(card, i, ctx) {
  const rows = [card.exact && ["exactly", card.exact], card.source].filter(Boolean);
  const value = quantity(card.value, card.unit);
  const detail = rows.flat().join(" ");
  const box = (event) => showTip(ctx.ui, event.currentTarget, card.label, rows);
  const handlers = { onpointerenter: box, onfocus: box, onclick: box, onpointerleave: () => hideTip(ctx.ui), onblur: () => hideTip(ctx.ui) };
  const word = card.word ?? GRADES[card.tone];
  return h("li", { key: card.id ?? card.label ?? i, class: `il-card ${card.tone ? `il-tone-${card.tone}` : ""} ${card.term ? `c-${card.term}` : ""}` },
    h("span", { class: "il-card-label" }, card.label),
    rows.length
      ? h("button", { type: "button", class: "il-card-value", "aria-label": `${joined(spoken(card.value), card.unit, " ")}, ${detail}`, ...handlers }, value)
      : h("span", { class: "il-card-value" }, value),
    (word || card.note) && h("span", { class: "il-card-note" }, word && h("b", { class: "il-grade" }, word), word && card.note ? ", " : null, card.note));
}

const cardsView = (cards, ctx) => cards?.length ? h("ul", { key: "cards", class: "il-cards", role: "list", "aria-label": "Readouts" }, cards.map((card, i) => cardView(card, i, ctx))) : null;

function bannerView(banner, ctx) {
  if (!banner) return null;
  const turn = ([[id, value], ...rest]) => ctx.line.turn(id, value, Object.fromEntries(rest));
  return h("div", { key: "banner", class: `il-banner il-banner-${banner.tone}`, role: "status" },
    h("p", { class: "il-banner-title" }, h("span", { class: "il-mark", "aria-hidden": "true" }, BANNERS[banner.tone] ?? "!"), banner.title),
    rich("div", {}, banner.text),
    banner.actions?.length ? h("div", { key: "actions", class: "il-act" }, banner.actions.map((action) => // ways out, each a setting of dials
      h("button", { key: action.label, type: "button", class: "il-preset", onclick: () => turn(Object.entries(action.dials)) }, action.label))) : null);
}

const formulaView = (html) => html ? rich("div", { key: "formula", class: "il-formula", role: "group", "aria-label": "The law with the current figures" }, html) : null;
// a table that is wider than a phone scrolls by itself, so the keyboard must reach it
const noteView = (html, key = "note") => html ? rich("div", { key, class: "il-note" }, html.replaceAll("<table>", '<table tabindex="0">')) : null;

// One sentence for screen readers when the dials rest: the cards, and the banner if there is one.
function summary(view) {
  const cards = (view.cards ?? []).map((card) => `${card.label} ${joined(spoken(card.value), card.unit, " ")}`);
  return [view.banner?.title, ...cards, cards.length ? null : view.figures?.[0]?.text].filter(Boolean).join("; ");
}

function announce(ctx) {
  const { ui, view } = ctx;
  const words = summary(view);
  if (words === ui.words) return;
  const first = ui.words === undefined;
  ui.words = words;
  if (first) return; // nothing is announced for a page that has just been opened
  clearTimeout(ui.speech);
  ui.speech = setTimeout(() => {
    if (ui.live) ui.live.textContent = words;
  }, 700);
}
