// The fusion tree: choose two ops, answer each branch, then see the planner's verdict. Changing the ops begins the walk anew.

// Drawn: down where the answer is no, to the right where it is yes; the way so far is marked, and where one stands.
function treeView(rows, drawn) {
  const answerOf = (row) => row.ids.map((id) => drawn.passed[id]).filter((answer) => answer !== undefined).reduce((any, answer) => any || answer, undefined);
  const leaf = (words, reached) => h("span", { class: `il-leaf ${reached ? "il-reached" : ""}` }, words);
  const exit = (words, taken) => h("span", { class: `il-exit ${taken ? "il-taken" : ""}` }, words);
  const question = (row) => h("span", { class: `il-branch ${row.ids.includes(drawn.at) ? "il-here" : answerOf(row) === undefined ? "" : "il-passed"}`, "aria-current": row.ids.includes(drawn.at) ? "step" : null }, row.label);
  const arm = (words, taken, to) => h("span", { class: "il-arm" }, exit(words, taken), typeof to === "string" ? leaf(to, taken && drawn.end) : [question(to),
    h("span", { class: "il-fork" }, arm("yes", answerOf(to) === true, to.yes), arm("no", answerOf(to) === false, to.no))]);
  return h("ol", { key: "tree", class: "il-tree", "aria-label": "The tree: down where the answer is no, to the right where it is yes" }, rows.map((row, i) => {
    const answer = answerOf(row);
    return h("li", { key: i, class: answer === false ? "il-down" : "" }, question(row), arm("yes", answer === true, row.yes), row.no ? arm("no", answer === false, row.no) : null);
  }));
}

function walkPiece(ctx) {
  const { spec, state, view, ui, line } = ctx;
  const set = (field) => (event) => line.send({ [field]: field === "shape" ? Number(event.target.value) : event.target.value, answers: [] });
  const menu = (field, label, options) => h("div", { key: field, class: "il-dial" }, h("label", { for: `${ui.id}-${field}` }, label),
    h("select", { id: `${ui.id}-${field}`, value: String(state[field]), onchange: set(field) }, options));
  const plain = (pairs) => pairs.map(([value, label]) => h("option", { key: String(value), value }, label));
  const groups = [...new Set(spec.kinds.map((kind) => kind.group))];
  const kinds = groups.map((group) => h("optgroup", { key: group, label: group }, spec.kinds.filter((kind) => kind.group === group).map((kind) => h("option", { key: kind.value, value: kind.value }, kind.label))));
  const answer = (yes) => () => {
    ui.local.answered = true;
    line.send({ answers: [...state.answers, yes] });
  };
  const back = () => line.send({ answers: state.answers.slice(0, -1) });
  const arrived = (node) => {
    if (!ui.local.answered || !node.isConnected) return;
    ui.local.answered = false;
    node.focus({ preventScroll: true });
  };
  const { end } = view;
  return h("section", { class: "il-walker", "aria-label": "Fusion tree" },
    h("div", { key: "ops", class: "il-walk-ops" }, menu("first", "First op", kinds), menu("second", "Second op", kinds), menu("relation", "Between them", plain(spec.relations)),
      menu("shape", "Tensor", plain(spec.shapes.map((shape, i) => [i, shape]))), menu("fit", "The second", plain(spec.fits)), view.reduces ? menu("over", "A reduction goes", plain(spec.over)) : null),
    spec.trees && view.drawn && treeView(spec.trees[state.relation], view.drawn),
    h("ol", { key: "steps", class: "il-walk-steps" }, (view.steps ?? []).map((step, i) => h("li", { key: i, class: step.right === null ? "" : step.right ? "il-right" : "il-wrong" },
      step.ask, " ", h("b", {}, step.answer ? "Yes" : "No"), step.right === null ? null : h("span", { class: "il-verdict" }, step.right ? " ✓" : " ✗ not so")))),
    view.skipped && h("p", { key: "skipped", class: "il-hint" }, view.skipped),
    view.next && h("div", { key: "next", class: "il-question" }, h("p", { class: "il-ask", tabindex: -1, after: arrived }, view.next),
      h("div", { class: "il-act" }, h("button", { type: "button", class: "il-button", onclick: answer(true) }, "Yes"), h("button", { type: "button", class: "il-button", onclick: answer(false) }, "No"),
        state.answers.length ? h("button", { type: "button", class: "il-button", onclick: back }, "Back") : null)),
    h("div", { key: "end", class: end ? `il-feedback ${end.agrees ? "il-right" : "il-wrong"}` : "", role: "status" }, end && [
      h("p", { class: "il-verdict", tabindex: -1, after: arrived }, end.agrees ? "✓ You and the planner agree." : "↺ The planner decides differently."),
      h("p", {}, h("b", {}, "You: "), end.you, "."), h("p", {}, h("b", {}, "Planner: "), `${end.planner}. ${end.reason[0].toUpperCase()}${end.reason.slice(1)}.`)]),
    end && h("div", { key: "again", class: "il-act" }, h("button", { type: "button", class: "il-button", onclick: () => line.send({ answers: [] }) }, "Walk again"), h("button", { type: "button", class: "il-button", onclick: back }, "Back")),
    view.error && h("p", { key: "error", class: "il-error", role: "alert" }, view.error.message));
}
