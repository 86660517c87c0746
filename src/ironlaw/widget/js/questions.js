// Two instruments that ask first: the optimisation loop, step by step, and the capture spectrum, way by way.

function loopPiece(ctx) {
  const { spec, state, view, ui, line } = ctx;
  const menus = h("div", { key: "menus", class: "il-walk-ops" }, spec.menus.map((menu) => h("div", { key: menu.id, class: "il-dial" }, h("label", { for: `${ui.id}-${menu.id}` }, menu.label),
    h("select", { id: `${ui.id}-${menu.id}`, value: state[menu.id], onchange: (event) => line.send({ [menu.id]: event.target.value, answers: [] }) },
      menu.options.map(([value, label]) => h("option", { key: value, value }, label))))));
  const answer = (i) => {
    ui.local.answered = state.answers.length;
    line.send({ answers: [...state.answers, i] });
  };
  const arrived = (i) => (node) => {
    if (ui.local.answered !== i || !node.isConnected) return;
    ui.local.answered = null;
    node.focus({ preventScroll: true });
  };
  return h("section", { class: "il-walker", "aria-label": "The optimisation loop" }, menus,
    h("ol", { key: "steps", class: "il-loop-steps" }, (view.steps ?? []).map((step, i) => h("li", { key: i, class: step.given === null ? "il-now" : "" },
      h("p", { class: "il-ask" }, h("span", { class: "il-quiet" }, `${step.title}. `), step.ask),
      step.given === null
        ? h("div", { class: "il-palette", role: "group", "aria-label": step.ask }, step.options.map((option, k) => h("button", { key: k, type: "button", class: "il-button", onclick: () => answer(k) }, option)))
        : [h("p", { key: "said", tabindex: -1, after: arrived(i) }, "You: ", h("b", {}, step.options[step.given]), step.right === null ? "." : step.right ? " ✓" : " ✗"),
            h("div", { key: "told", class: `il-feedback ${step.right === null ? "" : step.right ? "il-right" : "il-wrong"}`, role: "status" }, rich("div", {}, step.says))]))),
    view.after && rich("div", { key: "after", class: "il-scroll" }, view.after),
    state.answers.length ? h("div", { key: "again", class: "il-act" }, h("button", { type: "button", class: "il-button", onclick: () => line.send({ answers: [] }) }, "Begin again")) : null,
    view.error && h("p", { key: "error", class: "il-error", role: "alert" }, view.error.message));
}

function spectrumPiece(ctx) {
  const { spec, state, view, ui, line } = ctx;
  clearTimeout(ui.poll);
  if (view.running) ui.poll = setTimeout(() => line.send({ poll: (state.poll ?? 0) + 1 }), 800);
  const guess = (way) => () => ui.local[way] && line.send({ guesses: { ...state.guesses, [way]: ui.local[way] } });
  return h("section", { class: "il-walker", "aria-label": "Capture spectrum" },
    h("pre", { key: "code", class: "il-code", tabindex: 0, "aria-label": "The function" }, spec.code),
    h("p", { key: "inputs" }, "Captured with ", h("code", {}, spec.inputs[0]), ", then called with ", h("code", {}, spec.inputs[1]), ", which takes the other branch. What comes out?"),
    h("ol", { key: "ways", class: "il-ways" }, spec.ways.map((way) => wayView(ctx, way, guess))),
    h("div", { key: "act", class: "il-act" },
      !spec.absent ? h("button", { type: "button", class: "il-button", disabled: Boolean(view.running), onclick: () => does(ctx, {}) }, view.running ? "Running …" : "Run it here") : null,
      h("span", { class: "il-hint", role: "status" }, `${view.source ?? ""}${spec.absent ? ` ${spec.absent}` : ""}`)),
    view.error && h("p", { key: "error", class: "il-error", role: "alert" }, view.error.message));
}

function wayView(ctx, way, guess) {
  const { spec, state, view, ui } = ctx;
  const result = view.told?.[way.id];
  const id = `${ui.id}-${way.id}`;
  return h("li", { key: way.id, class: "il-way" },
    h("div", { class: "il-dial" }, h("label", { for: id }, way.name),
      h("div", { class: "il-guess" }, h("select", { id, value: state.guesses?.[way.id] ?? ui.local[way.id] ?? "", disabled: Boolean(result), onchange: (event) => { ui.local[way.id] = event.target.value; ctx.redraw(); } },
        h("option", { value: "", disabled: true }, "choose …"), spec.outcomes.map(([value, label]) => h("option", { key: value, value }, label))),
      result ? null : h("button", { type: "button", class: "il-button", disabled: !ui.local[way.id], "aria-label": `See what ${way.name} does`, onclick: guess(way.id) }, "See"))),
    h("div", { class: result ? `il-feedback ${result.right ? "il-right" : "il-wrong"}` : "", role: "status" }, result && [
      h("p", { class: "il-verdict" }, `${result.right ? "✓" : "✗"} ${result.result}`),
      result.warnings.map((text, i) => h("p", { key: `w${i}` }, h("b", {}, "It warned: "), text)),
      rich("div", { key: "about" }, result.about),
      result.sees ? h("details", { key: "sees" }, h("summary", {}, `What it captured: ${result.graphs} ${result.graphs === 1 ? "graph" : "graphs"}`), h("pre", { class: "il-code", tabindex: 0 }, result.sees)) : null]));
}
