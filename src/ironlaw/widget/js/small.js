// The two small pieces: the context of an instrument, and a number to commit (a scaling challenge).

const BESIDE_TITLE = 46; // letters: what fits beside an instrument's title; more of them, and on a phone, are a menu

// In the head of an instrument: a button for each context, or a menu.
function togglePiece(ctx) {
  const { spec, state, ui, line } = ctx;
  if (spec.hidden) return h("div", { key: "hidden" });
  const chosen = spec.options.find((option) => option.value === state.value);
  const choose = (value) => {
    document.dispatchEvent(new CustomEvent("ironlaw:choosing"));
    line.send({ value });
  };
  const asMenu = onPhone() || spec.options.reduce((letters, option) => letters + option.label.length, 0) > BESIDE_TITLE;
  const named = (option) => (option.note ? `${option.label} (${option.note.toLowerCase()})` : option.label);
  if (asMenu) {
    return h("div", { key: "menu", class: "il-toggle" }, h("label", { for: `${ui.id}-menu` }, spec.label),
      h("select", { id: `${ui.id}-menu`, value: spec.options.indexOf(chosen), onchange: (event) => choose(spec.options[Number(event.target.value)].value) },
        spec.options.map((option, i) => h("option", { key: i, value: i }, named(option)))));
  }
  return h("fieldset", { key: "buttons", class: "il-toggle" }, h("legend", {}, spec.label),
    h("div", { class: "il-options" }, spec.options.map((option) => h("label", { key: String(option.value), title: option.note || null },
      h("input", { type: "radio", name: ui.id, checked: option.value === state.value, onchange: () => choose(option.value) }),
      h("span", {}, option.label)))));
}

function numberPiece(ctx) {
  const { spec, state, view, ui, line } = ctx;
  const done = view.committed !== null && view.committed !== undefined;
  const text = ui.local.draft ?? (state.value === null || state.value === undefined ? "" : String(state.value));
  const read = (typed) => readNumber(typed).filter((number) => number >= (spec.min ?? -Infinity) && number <= (spec.max ?? Infinity));
  const good = (typed) => read(typed).length === 1; // what can be read in two ways is asked for once more
  const commit = (typed) => {
    if (!good(typed) || done) return;
    ui.local.committing = true;
    line.send({ value: read(typed)[0], commit: (state.commit ?? 0) + 1 });
  };
  const type = (event) => {
    ui.local.draft = event.target.value;
    ctx.redraw();
  };
  // read from the box itself: Enter may come before the page has been drawn for the last digit
  const enter = (event) => {
    if (event.key === "Enter") commit(event.target.value); // nothing is returned: false would keep every other key from typing
  };
  return h("div", { class: `il-challenge ${done ? "il-sealed" : ""}` },
    rich("label", { for: `${ui.id}-n` }, spec.label),
    h("div", { class: "il-act" },
      numberField({ id: `${ui.id}-n`, least: spec.min, most: spec.max, inputmode: "decimal", value: done ? fieldText(view.committed.value ?? view.committed) : text, disabled: done, oninput: type, onkeydown: enter }),
      spec.unit && h("span", { class: "il-unit" }, spec.unit),
      done ? h("span", { class: "il-hint" }, padlock(), " Committed.") : h("button", { type: "button", class: "il-button il-primary", disabled: !good(text), onclick: () => commit(text) }, spec.words?.commit ?? "Commit")),
    read(text).length > 1 && !done ? h("p", { key: "twice", class: "il-hint", role: "status" }, `This can be read in two ways: write ${read(text).join(" or ")}.`) : null,
    h("div", { class: view.feedback ? `il-feedback ${view.right === undefined ? "" : view.right ? "il-right" : "il-wrong"}` : "", role: "status" },
      view.feedback && rich("div", { tabindex: -1, after: (node) => takes(ui, "committing", node) }, view.feedback)),
    view.error && h("p", { class: "il-error", role: "alert" }, view.error.message ?? String(view.error)));
}
