// A question with feedback per option. Answers are recorded; another option can be tried, and is recorded too.

function reflectPiece(ctx) {
  const { spec, state, view, ui, line } = ctx;
  const reply = view.answered;
  const blanks = spec.blanks;
  const choice = state.choice ?? (reply ? reply.choice : null);
  const ready = blanks ? blanks.every((_, i) => choice?.[i] !== undefined && choice?.[i] !== null) : choice !== null && choice !== undefined;
  const fresh = !reply || !same(reply.choice, choice);
  const answer = () => {
    if (!ready) return;
    ui.local.answering = true;
    line.send({ choice, answer: (state.answer ?? 0) + 1 });
  };
  const verdict = reply && !fresh;
  return h("section", { class: "il-question", "aria-labelledby": `${ui.id}-q` },
    rich("div", { class: "il-ask", id: `${ui.id}-q` }, spec.question),
    blanks ? blanksView(ctx, choice ?? []) : answersView(ctx, choice, verdict ? reply : null),
    h("div", { key: "act", class: "il-act" },
      h("button", { type: "button", class: "il-button il-primary", disabled: !ready || !fresh, onclick: answer }, spec.words?.answer ?? "Answer"),
      reply && !reply.right && !fresh && h("span", { class: "il-hint" }, "You can choose another and answer again.")),
    h("div", { key: "feedback", class: verdict ? `il-feedback ${reply.right ? "il-right" : "il-wrong"}` : "", role: "status" },
      verdict && [h("p", { class: "il-verdict", tabindex: -1, after: (node) => takes(ui, "answering", node) }, reply.right ? "✓ Yes." : "↺ Not this one."), rich("div", {}, reply.feedback)]),
    view.error && h("p", { class: "il-error", role: "alert" }, view.error.message ?? String(view.error)));
}

function answersView(ctx, choice, reply) {
  const { spec, ui, line } = ctx;
  return h("fieldset", { key: "choice", class: "il-answers" }, h("legend", { class: "il-hearing" }, "Your answer"),
    spec.options.map((option, i) => h("label", { key: i, class: `il-answer ${reply?.choice === i ? (reply.right ? "il-right" : "il-wrong") : ""}` },
      h("input", { type: "radio", name: `${ui.id}-choice`, checked: choice === i, onchange: () => line.send({ choice: i }) }),
      rich("span", {}, option.label))));
}

function blanksView(ctx, choice) {
  const { spec, ui, line } = ctx;
  const set = (i, value) => line.send({ choice: spec.blanks.map((_, k) => (k === i ? value : choice[k] ?? null)) });
  return h("div", { key: "blanks", class: "il-blanks" }, spec.blanks.map((blank, i) =>
    h("div", { key: i, class: "il-dial" }, rich("label", { for: `${ui.id}-b${i}` }, blank.label),
      h("select", { id: `${ui.id}-b${i}`, value: choice[i] ?? "", onchange: (event) => set(i, Number(event.target.value)) },
        h("option", { value: "", disabled: true }, "choose …"), blank.options.map((option, k) => h("option", { key: k, value: k }, option.label ?? option))))));
}
