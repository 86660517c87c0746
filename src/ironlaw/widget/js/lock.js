// The prediction lock: choose, say how sure you are, commit once. Committed, it is a seal and can't be edited.

const CONFIDENCE = ["guessing", "unsure", "fairly sure", "sure", "certain"];

function lockPiece(ctx) {
  const { spec, state, view, ui, line } = ctx;
  const words = { commit: "Commit my prediction", again: "Try again", confidence: "How sure are you?", ...spec.words };
  const sealed = view.committed;
  const trying = Boolean(ui.local.trying) && sealed && ui.local.trying === (view.attempts ?? 1);
  const open = !sealed || trying;
  const choice = open ? state.choice : sealed.choice;
  const confidence = open ? state.confidence : sealed.confidence;
  const part = open && !trying ? partMissing(ctx) : ""; // with the truth in sight there is nothing to estimate or to draw
  const ready = choice !== null && choice !== undefined && (spec.confidence === false || confidence) && !part;
  const commit = () => {
    if (!ready) return;
    ui.local.sealing = true;
    line.send(trying ? { commit: (state.commit ?? 0) + 1, again: (state.again ?? 0) + 1 } : { commit: (state.commit ?? 0) + 1 });
  };
  const waiting = open && (state.commit ?? 0) > 0 && state.seq > (view.seq ?? 0);
  return h("section", { class: `il-question ${open ? "" : "il-sealed"}`, "aria-labelledby": `${ui.id}-q` },
    rich("div", { class: "il-ask", id: `${ui.id}-q` }, spec.question),
    spec.premises && rich("div", { class: "il-premises" }, spec.premises),
    spec.assumptions && h("details", { key: "assumptions", class: "il-assumptions" }, h("summary", {}, "Assumptions"), rich("div", {}, spec.assumptions)),
    optionsView(ctx, "choice", spec.options, choice, !open, sealed && open ? null : sealed?.choice),
    open && !trying && spec.sketch ? sketchView(ctx) : null,
    open && !trying && spec.estimate ? estimateView(ctx) : null,
    spec.confidence === false ? null : confidenceView(ctx, words, confidence, !open),
    open
      ? h("div", { key: "act", class: "il-act" },
          h("button", { key: "commit", type: "button", class: "il-button il-primary", disabled: !ready || waiting, onclick: commit }, waiting ? "Committing …" : words.commit),
          trying && h("button", { key: "cancel", type: "button", class: "il-button", onclick: () => close(ctx) }, "Keep the first"),
          h("span", { class: "il-hint" }, ready ? "Once committed it is recorded with the time and can’t be changed." : [missing(choice, spec.confidence === false || confidence), part].filter(Boolean).join(" ")))
      : sealView(ctx, sealed, words),
    view.error && h("p", { class: "il-error", role: "alert" }, view.error.message ?? String(view.error)));
}

const missing = (choice, confidence) =>
  choice === null || choice === undefined ? (confidence ? "Choose an answer." : "Choose an answer and say how sure you are.") : confidence ? "" : "Say how sure you are.";

function close(ctx) {
  ctx.ui.local.trying = ctx.ui.local.asking = null;
  ctx.redraw();
}

function sealView(ctx, sealed, words) {
  const { spec, ui, view, line } = ctx;
  const begin = () => {
    ui.local.trying = view.attempts ?? 1;
    ui.local.asking = null;
    line.send({ choice: null, confidence: null, ...(spec.estimate && { estimate: null }), ...(spec.sketch && { sketch: null }) });
  };
  const ask = () => {
    ui.local.asking = true;
    ctx.redraw();
  };
  const sure = sealed.confidence ? `, ${words.labels?.[sealed.confidence - 1] ?? CONFIDENCE[sealed.confidence - 1]} (${sealed.confidence} of 5)` : "";
  const nth = (sealed.attempt ?? 1) > 1 ? `, attempt ${sealed.attempt}` : "";
  return h("div", { key: "seal", class: "il-act il-seal" },
    h("p", { role: "status", tabindex: -1, after: (node) => (spec.to ? leads(ui, "sealing", spec.to) : takes(ui, "sealing", node)) }, padlock(), h("b", {}, "Committed"), ` ${moment(sealed.time)}${sure}${nth}${sealedWords(ctx, sealed)}.`),
    spec_again(ctx) && (ui.local.asking
      ? [h("span", { key: "why", class: "il-hint" }, "Your first prediction stays on record; this starts another attempt."),
          h("button", { key: "yes", type: "button", class: "il-button", onclick: begin }, "Start another attempt"),
          h("button", { key: "no", type: "button", class: "il-button", onclick: () => close(ctx) }, "Leave it")]
      : h("button", { key: "again", type: "button", class: "il-button", onclick: ask }, words.again)));
}

// The button that was pressed is gone or has nothing more to do: who works by keyboard goes on from what came of it.
function takes(ui, why, node) {
  if (!ui.local[why] || !node.isConnected) return;
  ui.local[why] = false;
  node.focus();
  setTimeout(() => node.closest(".il-feedback")?.scrollIntoView({ block: "nearest" })); // all of it, once it is drawn
}

const spec_again = ({ spec }) => spec.again !== false;

// The time as the learner's own clock would say it; other text as it is.
function moment(time) {
  const date = new Date(time);
  if (!time || Number.isNaN(date.getTime())) return time ?? "";
  const today = date.toDateString() === new Date().toDateString();
  return date.toLocaleString(undefined, { ...(today ? {} : { day: "numeric", month: "short", year: "numeric" }), hour: "2-digit", minute: "2-digit", hourCycle: "h23" }); // as the HUD
}

// Radio buttons with rich labels; `sealed` is the index of the committed one.
function optionsView(ctx, field, options, chosen, disabled, sealed) {
  const { spec, ui, line } = ctx;
  return h("fieldset", { key: field, class: "il-answers" }, h("legend", { class: "il-hearing" }, "Your answer"),
    options.map((option, i) => h("label", { key: i, class: `il-answer ${sealed === i ? "il-kept" : ""}` },
      h("input", { type: "radio", name: `${ui.id}-${field}`, checked: chosen === i, disabled, onchange: () => line.send({ [field]: i }) }),
      rich("span", {}, option.label), sealed === i && h("em", { class: "il-tag" }, spec.words?.mine ?? "your prediction"))));
}

function confidenceView(ctx, words, confidence, disabled) {
  const { ui, line } = ctx;
  const names = words.labels ?? CONFIDENCE;
  return h("fieldset", { key: "confidence", class: "il-confidence" }, h("legend", {}, words.confidence),
    h("div", { class: "il-options" }, names.map((name, i) => h("label", { key: i },
      h("input", { type: "radio", name: `${ui.id}-confidence`, checked: confidence === i + 1, disabled, onchange: () => line.send({ confidence: i + 1 }) }),
      h("span", {}, h("b", {}, String(i + 1)), ` ${name}`)))));
}
