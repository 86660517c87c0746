// What leads through a lab: the button to the next place, the button that saves, and the thread between windows of one lab.

let ground = document; // where a place is looked for: a notebook draws the page in a shadow
const SOON = 30000; // ms: a place that has not come by then, on a busy machine, is not coming

// What was committed leads to another place, which Python is about to open.
function leads(ui, why, to) {
  if (!ui.local[why]) return;
  ui.local[why] = false;
  setTimeout(() => goTo(to)); // it is asked in the middle of a drawing: what stands above the place has not got its height yet
}

// Waits for a place, brings it into view and gives it the focus: who works by keyboard goes on from there.
function goTo(id, until = performance.now() + SOON) {
  const place = ground.getElementById(id);
  if (!place?.getClientRects().length) {
    if (performance.now() < until) setTimeout(() => goTo(id, until), 40);
    return;
  }
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const start = ground.getElementById(id.replace(/-lock$/, "-message")) ?? place; // an act begins with its message
  start.setAttribute("tabindex", "-1");
  start.focus({ preventScroll: true });
  start.scrollIntoView({ block: "start", behavior: calm ? "auto" : "smooth" });
  document.dispatchEvent(new CustomEvent("ironlaw:place", { detail: id }));
}

function nextPiece(ctx) {
  const { spec, state, view, ui, line } = ctx;
  const waiting = (state.act ?? 0) > 0 && state.seq > (view.seq ?? 0);
  if (view.done) {
    leads(ui, "going", spec.to);
    return []; // the rail leads there now
  }
  const press = () => {
    ui.local.going = true;
    line.send({ act: (state.act ?? 0) + 1 });
  };
  return h("div", { class: "il-next" },
    h("button", { type: "button", class: "il-button il-primary", "aria-disabled": waiting && "true", onclick: () => waiting || press() }, waiting ? "One moment …" : spec.label, h("span", { "aria-hidden": "true" }, " →")),
    problem(view));
}

const problem = (view) => view.error && h("p", { key: "error", class: "il-error", role: "alert" }, view.error.message ?? String(view.error));

// What stands on the dials, against the act's task. One that fails can be saved, and is called that.
const builtView = (design, i) => h("dl", { key: `built-${i}`, class: `il-built ${design.meets ? "il-good" : "il-warn"}` },
  [["You built", design.built.split("; ").map((dial, j) => h("span", { key: j }, dial))], ["Your task", rich("span", {}, design.task)],
    ["Verdict", design.meets ? "✓ Meets the goal" : `✗ Does not meet the goal. ${design.title}.`]].map(([name, value]) => h("div", { key: name }, h("dt", {}, name), h("dd", {}, value))));

function savePiece(ctx) {
  const { spec, state, view, line } = ctx;
  const waiting = (state.act ?? 0) > 0 && state.seq > (view.seq ?? 0);
  const same = view.saved && !view.changed;
  const label = waiting ? "Saving …" : view.saved ? "Save it as it stands now" : spec.designed ? "Save my design" : "Save my settings";
  const told = same ? `✓ Saved ${moment(view.time)}: your answers, and the position of every dial.`
    : view.saved ? `The controls have moved since you saved (${moment(view.time)}). What you saved stays until you save again.`
      : "Nothing is written until you press this. Later labs start from what you save.";
  return h("div", { class: `il-save ${same ? "il-kept" : ""}` }, (view.built ?? []).map(builtView),
    h("button", { type: "button", class: `il-button ${same ? "" : "il-primary"}`, "aria-disabled": String(Boolean(waiting || same)), onclick: () => waiting || same || line.send({ act: (state.act ?? 0) + 1 }) }, same ? "Saved" : label), // one that is disabled would lose the keyboard's focus
    h("p", { class: "il-hint", role: "status" }, told),
    problem(view));
}

// Commits the design that stands on the dials above. It may be committed again; the newest counts.
function decidePiece(ctx) {
  const { state, view, ui, line } = ctx;
  const waiting = (state.act ?? 0) > 0 && state.seq > (view.seq ?? 0);
  const press = () => {
    ui.local.deciding = true;
    line.send({ act: (state.act ?? 0) + 1 });
  };
  return h("div", { class: "il-decide" },
    h("div", { class: "il-act" },
      h("button", { type: "button", class: `il-button ${view.committed ? "" : "il-primary"}`, disabled: waiting, onclick: press }, waiting ? "Committing …" : view.committed ? "Commit the dials as they stand now" : "Commit this design"),
      h("span", { class: "il-hint" }, view.committed ? [padlock(), ` Committed ${moment(view.committed.time)}. The newest one counts.`] : "This writes the dials above, as they stand, into your ledger.")),
    h("div", { class: view.feedback ? `il-feedback ${view.right ? "il-right" : "il-wrong"}` : "", role: "status" },
      view.feedback && rich("div", { tabindex: -1, after: (node) => takes(ui, "deciding", node) }, view.feedback)),
    problem(view));
}

// Help in three rungs, each open once the one before was asked for. Asking is written down, so the piece says so.
function hintPiece(ctx) {
  const { spec, state, view, ui, line } = ctx;
  const waiting = (state.act ?? 0) > 0 && state.seq > (view.seq ?? 0);
  const ask = (rung) => {
    ui.local.asking = true;
    line.send({ act: (state.act ?? 0) + 1, rung });
  };
  const barred = (rung) => waiting || rung > (view.open ?? 1);
  return h("div", { class: "il-decide" },
    h("div", { class: "il-act" }, spec.rungs.map((label, i) =>
      h("button", { key: i, type: "button", class: "il-button", "aria-disabled": String(barred(i + 1)), onclick: () => barred(i + 1) || ask(i + 1) },
        waiting && state.rung === i + 1 ? "Searching …" : `${i + 1}. ${label}`))),
    h("p", { class: "il-hint" }, view.asked ? `Asked ${["", "once", "twice"][view.asked] ?? `${view.asked} times`}. Your ledger keeps that.` : "Your ledger keeps which of these you asked for."),
    h("div", { class: view.feedback ? "il-feedback" : "", role: "status" },
      view.feedback && rich("div", { tabindex: -1, after: (node) => takes(ui, "asking", node) }, view.feedback)),
    problem(view));
}

// One window tells the others how much the ledger holds; those that know less look. So does one that comes back into view: another
// browser can't tell it anything.
function followPiece(ctx) {
  const { spec, view, ui, line } = ctx;
  const look = () => line.send({ look: (line.state.look ?? 0) + 1 });
  if (!ui.channel) {
    ui.channel = new BroadcastChannel(`ironlaw:${spec.lab}`);
    ui.channel.onmessage = ({ data }) => data !== ui.stamp && look();
    ui.seen = () => document.visibilityState === "visible" && look();
    document.addEventListener("visibilitychange", ui.seen);
    addEventListener("focus", ui.seen);
    ui.ends.push(() => {
      ui.channel.close();
      document.removeEventListener("visibilitychange", ui.seen);
      removeEventListener("focus", ui.seen);
    });
  } else if (view.stamp !== ui.stamp) ui.channel.postMessage(view.stamp);
  ui.stamp = view.stamp;
  return [];
}
