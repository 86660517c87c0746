// Measure it here: one block an experiment, with a button that starts it, then cancels it, then starts it again.
// It is the same button throughout, so that the focus stays where it was.

const POLL = 400; // ms between two looks at a run

function experimentPiece(ctx) {
  const { state, view, ui, line } = ctx;
  clearTimeout(ui.poll);
  if (view.running) ui.poll = setTimeout(() => line.send({ poll: (state.poll ?? 0) + 1 }), POLL);
  const waiting = ui.local.pending !== undefined && (view.seq ?? 0) < ui.local.pending;
  return h("section", { class: "il-trials", "aria-label": "Measure it here" },
    view.elsewhere && elsewhereView(ctx, waiting),
    (view.items ?? []).map((item) => trialView(ctx, item, waiting)),
    view.error && h("p", { key: "error", class: "il-error", role: "alert" }, view.error.message));
}

// Only one runs at a time, whichever lab it was started from: from here it can be cancelled too.
function elsewhereView(ctx, waiting) {
  const { id, title } = ctx.view.elsewhere;
  const cancel = () => {
    if (waiting) return;
    does(ctx, { do: "cancel", which: id });
    ctx.ui.local.pending = ctx.line.state.seq ?? 0;
  };
  return h("div", { key: "elsewhere", class: "il-act" },
    h("p", { key: "says", class: "il-hint", role: "status" }, `Another measurement is running: “${title}”.`),
    h("button", { key: "cancel", type: "button", class: "il-button", onclick: cancel }, "Cancel it"));
}

function trialView(ctx, item, waiting) {
  const { ui, view } = ctx;
  const mine = waiting && ui.local.which === item.id;
  const press = (way) => {
    if (waiting) return; // until the last press is answered another would not know what it does
    does(ctx, { do: way, which: item.id });
    ui.local.which = item.id;
    ui.local.pending = ctx.line.state.seq ?? 0;
  };
  const label = item.running ? "Cancel" : item.result || item.refused ? "Measure again" : "Measure it here";
  const busy = !item.running && view.running;
  const hint = item.why || (busy ? (view.elsewhere ? "" : "Another measurement is running.") : item.running ? "" : `About ${item.seconds}.`);
  return h("div", { key: item.id, class: "il-trial", id: `trial-${item.id}` },
    h("p", { key: "title", class: "il-trial-title", id: `${ui.id}-${item.id}` }, item.title),
    h("p", { key: "runs", class: "il-trial-runs" }, item.runs),
    h("div", { key: "act", class: "il-act" },
      h("button", { key: "press", type: "button", class: `il-button ${item.running || item.result ? "" : "il-primary"}`, disabled: Boolean(item.why) || busy, "aria-disabled": mine ? "true" : null, "aria-describedby": `${ui.id}-${item.id}`, onclick: () => press(item.running ? "cancel" : "start") }, mine ? "One moment …" : label),
      item.refused && h("button", { key: "force", type: "button", class: "il-button", disabled: busy || waiting, onclick: () => press("force") }, "Measure anyway"),
      item.running && progressView(item),
      hint && h("span", { key: "hint", class: "il-hint" }, hint)),
    h("p", { key: "told", class: "il-hint", role: "status" }, outcome(item)),
    item.error && h("p", { key: "error", class: "il-error", role: "alert" }, item.error),
    item.result && rich("div", { key: "result", class: "il-trial-result" }, item.result));
}

// What a screen reader hears when a run begins and ends; the share itself is the progress bar's to tell.
const outcome = (item) => (item.running ? "Measuring." : item.error ? "" : item.cancelled ? "Cancelled; nothing was saved." : "");

function progressView(item) {
  const percent = Math.round(100 * item.running.share);
  return h("span", { key: "progress", class: "il-progress" },
    h("span", { class: "il-gauge", role: "progressbar", "aria-label": `Progress of ${item.title}`, "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": percent, "aria-valuetext": `${percent}%, ${item.running.doing}` },
      h("i", { style: `width: ${percent}%` })),
    h("span", { class: "il-hint" }, `${percent}%, ${item.running.doing}`));
}
