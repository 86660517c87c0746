// The checklist and the written prompts: what a learner claims and writes, each kept in the ledger at once.

function checklistPiece(ctx) {
  const { view, ui } = ctx;
  const open = Boolean(ui.local.compare);
  if (view.error) ui.ticks = {};
  const ticks = (ui.ticks ??= {}); // what was ticked here stands until Python refuses it
  const tick = (id) => (event) => {
    ticks[id] = event.target.checked;
    does(ctx, { statement: id, ticked: event.target.checked });
  };
  const compare = () => {
    ui.local.compare = !open;
    ctx.redraw();
  };
  return h("section", { class: "il-sheet", "aria-label": "Checklist" },
    h("ol", { class: "il-ticks" }, (view.rows ?? []).map((row) => h("li", { key: row.id },
      h("label", { class: "il-tick" },
        h("input", { type: "checkbox", checked: ticks[row.id] ?? row.ticked, onchange: tick(row.id) }), h("span", {}, row.says)),
      open && h("div", { key: "record", class: "il-record" },
        h("p", { class: row.backed ? "c-good" : "c-warn" }, `Record ${row.record}${row.gap ? `: ${row.gap}` : ""}`),
        h("ul", {}, row.cards.map((card) => h("li", {}, `${card.label} · ${card.words}`))))))),
    h("div", { class: "il-act" }, h("button", { type: "button", class: "il-button", "aria-expanded": String(open), onclick: compare }, open ? "Hide my record" : "Compare with my record")),
    h("div", { class: "il-feedback", role: "status" }, view.begun
      ? [h("p", { class: "il-verdict" }, `${view.points} of ${view.of}: ${view.label}. ${view.action}`), view.weak.length ? h("p", {}, `Topics: ${view.weak.join(", ")}.`) : null]
      : h("p", {}, "Nothing is ticked yet. Once something is, this says what to do next.")),
    view.error && h("p", { class: "il-error", role: "alert" }, view.error.message));
}

function writingPiece(ctx) {
  const { spec, view, ui } = ctx;
  const drafts = (ui.drafts ??= {});
  const textOf = (id) => drafts[id] ?? view.texts?.[id] ?? "";
  const keep = (id) => {
    const text = textOf(id);
    if (text.trim() && text !== (view.texts?.[id] ?? "")) does(ctx, { prompt: id, text });
  };
  const status = (id) => {
    const text = view.texts?.[id];
    if (textOf(id) !== (text ?? "")) return "not saved yet";
    return text ? `saved ${moment(view.times[id])}, ${view.words[id]} word${view.words[id] === 1 ? "" : "s"}` : "";
  };
  const type = (id) => (event) => {
    drafts[id] = event.target.value;
    ctx.redraw();
  };
  const save = () => {
    const parts = spec.prompts.map((prompt) => `## ${prompt.says}\n\n${textOf(prompt.id).trim() || "(nothing written)"}\n`);
    handOver(new Blob([`# Review: written reflection\n\n${parts.join("\n")}`], { type: "text/markdown" }), "ironlaw-reflection.md");
  };
  return h("section", { class: "il-sheet", "aria-label": "Written reflection" },
    spec.prompts.map((prompt, i) => h("div", { key: prompt.id, class: "il-dial il-prompt" },
      h("label", { for: `${ui.id}-${prompt.id}` }, `${i + 1}. ${prompt.says}`),
      h("textarea", { id: `${ui.id}-${prompt.id}`, rows: 5, maxlength: spec.most, value: textOf(prompt.id), oninput: type(prompt.id), onchange: () => keep(prompt.id) }),
      h("div", { class: "il-act" }, h("button", { type: "button", class: "il-button", "aria-label": `Save answer ${i + 1}`, onclick: () => keep(prompt.id) }, "Save"),
        h("span", { class: "il-hint", role: "status" }, status(prompt.id))),
      view.after?.[prompt.id] ? h("p", { class: "il-hint", role: "status" }, view.after[prompt.id]) : null)),
    h("div", { class: "il-act" }, h("button", { type: "button", class: "il-button", onclick: save }, "Download as Markdown"),
      h("span", { class: "il-hint" }, "All versions are in the ledger's export too.")),
    view.error && h("p", { class: "il-error", role: "alert" }, view.error.message));
}
