// A card of the review. The key comes from Python, and only after an answer with a confidence has been kept.

function flashcardPiece(ctx) {
  const { view, ui } = ctx;
  if (ui.turn !== view.turn) Object.assign(ui, { turn: view.turn, local: { ...ui.local, answer: null, sure: null, order: null, points: null } });
  if (ui.phase !== `${view.turn}${view.phase}`) {
    ui.moveTo = ui.phase === undefined ? null : view.phase; // after an act of the learner, the focus goes where the next one is
    ui.phase = `${view.turn}${view.phase}`;
  }
  return h("section", { class: "il-review-card", "aria-label": "Cards" },
    cardHead(ctx),
    h("p", { key: "told", class: "il-hint", role: "status" }, view.told ?? ""),
    view.phase === "done" ? doneView(ctx) : ANSWERS[view.kind] && openCard(ctx),
    view.phase === "answer" && ANSWERS[view.kind] ? null : refusal(view)); // an error may come without a card
}

const does = (ctx, change) => ctx.line.send({ ...change, act: (ctx.state.act ?? 0) + 1 });
const arrive = (ctx, phase) => (node) => {
  if (ctx.ui.moveTo !== phase || !node.isConnected) return;
  ctx.ui.moveTo = null;
  node.focus({ preventScroll: true });
  node.closest("section")?.scrollIntoView({ block: "nearest" });
};

function cardHead(ctx) {
  const { view, spec, ui } = ctx;
  const score = view.answered ? `${view.right} of ${view.answered} right so far` : "";
  return h("div", { key: "head", class: "il-card-head" },
    h("div", { class: "il-dial" }, h("label", { for: `${ui.id}-topic` }, "Topic"),
      h("select", { id: `${ui.id}-topic`, value: ctx.state.topic ?? "", onchange: (event) => does(ctx, { do: "topic", topic: event.target.value }) },
        h("option", { value: "" }, "All topics"), spec.topics.map((topic) => h("option", { key: topic.value, value: topic.value }, topic.label)))),
    h("p", { class: "il-hint" }, [view.left === undefined || view.phase === "done" ? null : `${view.left} to go`, score].filter(Boolean).join(" · ")));
}

const refusal = (view) => view.error && h("p", { key: "error", class: "il-error", role: "alert" }, view.error.message);

// A sitting never ends without a way on: more cards, the other topics, or those that come back soonest.
function waysOn(view) {
  const ways = [];
  if (view.more) ways.push(["Start another session", { do: "more" }]);
  if (view.topic) ways.push(["Continue with all topics", { do: "topic", topic: "" }]);
  if (view.ahead && !view.more) ways.push([view.ahead === 1 ? "Practise that card now" : `Practise ${view.ahead} cards now`, { do: "ahead" }]);
  return ways;
}

function doneWords(view) {
  if (view.answered) return `Done for now: ${view.answered} answered, ${view.right} right.`;
  return view.topic ? `Nothing about ${view.topic} is due.` : "Nothing is due.";
}

function doneView(ctx) {
  const { view } = ctx;
  return h("div", { key: "done", class: "il-question" },
    h("p", { class: "il-ask", tabindex: -1, after: arrive(ctx, "done") }, doneWords(view)),
    h("p", {}, view.next ? `The next card comes back ${view.next}.` : "", view.skipped ? ` ${view.skipped} skipped in this session.` : ""),
    h("p", { class: "il-hint" }, "You can practise any concept at any time from its node on the concept map."),
    h("div", { class: "il-act" },
      waysOn(view).map(([label, act], i) => h("button", { key: act.do, type: "button", class: `il-button ${i ? "" : "il-primary"}`, onclick: () => does(ctx, act) }, label)),
      h("a", { key: "labs", class: "il-button", href: fromRoot("/") }, "Back to the labs"),
      view.undo && undoButton(ctx)));
}

function openCard(ctx) {
  const { view, ui } = ctx;
  const open = view.phase === "answer";
  return h("div", { key: `card-${view.turn}`, class: "il-question", role: "group", "aria-labelledby": `${ui.id}-q` },
    h("p", { class: "il-hint" }, `${view.topic} · ${view.reason}`),
    rich("p", { class: "il-ask", id: `${ui.id}-q`, tabindex: -1, after: arrive(ctx, "answer") }, view.html),
    view.facts?.length ? factsView(ctx) : null,
    ANSWERS[view.kind](ctx, open),
    open ? [sureView(ctx), refusal(view), answerButtons(ctx)] : null,
    view.phase === "points" ? pointsView(ctx) : null,
    view.phase === "key" ? keyView(ctx) : null);
}

// The figures that the answer needs and the question does not give, one tap away.
function factsView({ view }) {
  return h("details", { key: "facts", class: "il-facts" }, h("summary", {}, "Figures you may look up"),
    h("dl", {}, view.facts.map((fact, i) => h("div", { key: i }, h("dt", {}, fact.label), h("dd", {}, h("b", {}, fact.value), fact.source ? h("small", { class: "il-hint" }, ` ${fact.source}`) : null)))));
}

function sureView(ctx) {
  const { spec, ui, redraw } = ctx;
  return h("fieldset", { key: "sure", class: "il-confidence" }, h("legend", {}, "How sure are you?"),
    h("div", { class: "il-options" }, spec.levels.map(({ level, stands }) => h("label", { key: level, title: `stands for ${stands}` },
      h("input", { type: "radio", name: `${ui.id}-sure`, checked: ui.local.sure === level, onchange: () => { ui.local.sure = level; redraw(); } }),
      h("span", {}, h("b", {}, String(level)), ` ${CONFIDENCE[level - 1]}, ${stands}`)))));
}

function answerButtons(ctx) {
  const { view, ui } = ctx;
  const show = () => does(ctx, { do: "answer", answer: answerOf(ctx), confidence: ui.local.sure ?? null });
  return h("div", { key: "act", class: "il-act" },
    h("button", { key: "show", type: "button", class: "il-button il-primary", onclick: show }, view.kind === "explain" ? "Show the points" : "Show the key"),
    h("button", { key: "skip", type: "button", class: "il-button", onclick: () => does(ctx, { do: "skip" }) }, "Skip"),
    view.undo && undoButton(ctx));
}

const undoButton = (ctx) => h("button", { key: "undo", type: "button", class: "il-button", onclick: () => does(ctx, { do: "undo" }) }, "Undo the last answer");

// What goes to Python is what one would type in the terminal: a figure, a letter, letters in order, a text.
function answerOf({ view, ui }) {
  if (view.kind === "order") return orderOf(view, ui).join(" ");
  return ui.local.answer ?? "";
}
const orderOf = (view, ui) => ui.local.order ?? [...view.letters];

const ANSWERS = {
  numeric(ctx, open) {
    const { view, ui } = ctx;
    const enter = (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      does(ctx, { do: "answer", answer: event.target.value, confidence: ui.local.sure ?? null });
    };
    return h("div", { key: "numeric", class: "il-dial" }, h("label", { for: `${ui.id}-a` }, "Your answer"),
      h("input", { type: "text", id: `${ui.id}-a`, class: "il-figure-field", autocomplete: "off", spellcheck: "false", value: ui.local.answer ?? "", disabled: !open, "aria-describedby": `${ui.id}-h`, oninput: (event) => { ui.local.answer = event.target.value; }, onkeydown: enter }),
      h("p", { class: "il-hint", id: `${ui.id}-h` }, `${view.hint}`));
  },

  choice(ctx, open) {
    const { view, ui, redraw } = ctx;
    return h("fieldset", { key: "choice", class: "il-answers" }, h("legend", { class: "il-hearing" }, "Your answer"),
      view.choices.map((label, i) => h("label", { key: i, class: "il-answer" },
        h("input", { type: "radio", name: `${ui.id}-a`, checked: ui.local.answer === view.letters[i], disabled: !open, onchange: () => { ui.local.answer = view.letters[i]; redraw(); } }),
        h("span", {}, label))));
  },

  order(ctx, open) {
    const { view, ui, redraw } = ctx;
    const letters = orderOf(view, ui);
    const move = (i, to) => {
      if (!open || to < 0 || to >= letters.length) return;
      const rest = letters.filter((_, k) => k !== i);
      ui.local.order = [...rest.slice(0, to), letters[i], ...rest.slice(to)];
      ui.local.follow = letters[i];
      redraw();
    };
    const keys = (i) => (event) => {
      const to = { ArrowUp: i - 1, ArrowDown: i + 1, Home: 0, End: letters.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      move(i, to);
    };
    const follow = (letter) => (node) => {
      if (ui.local.follow !== letter || !node.isConnected) return;
      ui.local.follow = null;
      node.focus();
    };
    const label = (letter) => view.choices[view.letters.indexOf(letter)];
    return h("div", { key: "order" },
      h("p", { class: "il-hint" }, `Smallest first. The buttons move a line; so do the arrow keys on it. ${view.margin ?? ""}`.trim()),
      h("ol", { class: "il-order-list", "aria-label": "Your order, smallest first" }, letters.map((letter, i) => h("li", { key: letter },
        h("button", { key: "line", type: "button", class: "il-line-button", disabled: !open, onkeydown: keys(i), after: follow(letter), "aria-label": `${label(letter)}, ${i + 1} of ${letters.length}: arrow keys move it` }, `${i + 1}  ${label(letter)}`),
        h("button", { key: "up", type: "button", class: "il-out", disabled: !open || i === 0, onclick: () => move(i, i - 1), "aria-label": `Move ${label(letter)} up` }, "↑"),
        h("button", { key: "down", type: "button", class: "il-out", disabled: !open || i === letters.length - 1, onclick: () => move(i, i + 1), "aria-label": `Move ${label(letter)} down` }, "↓")))));
  },

  explain(ctx, open) {
    const { ui } = ctx;
    return h("div", { key: "explain", class: "il-dial" }, h("label", { for: `${ui.id}-a` }, "In your own words, from memory"),
      h("textarea", { id: `${ui.id}-a`, rows: 4, value: ui.local.answer ?? "", disabled: !open, oninput: (event) => { ui.local.answer = event.target.value; } }));
  },
};

function pointsView(ctx) {
  const { view, ui, redraw } = ctx;
  const points = ui.local.points ?? [];
  const turn = (point, on) => {
    ui.local.points = on ? [...points, point] : points.filter((other) => other !== point);
    redraw();
  };
  return h("fieldset", { key: "points", class: "il-answers" }, h("legend", { class: "il-strong-line" }, `A full answer makes these points. Which did you make? ${view.enough} of ${view.rubric.length} make it right.`),
    view.rubric.map((point, i) => h("label", { key: i, class: "il-answer" },
      h("input", { type: "checkbox", checked: points.includes(i + 1), onchange: (event) => turn(i + 1, event.target.checked), after: i ? undefined : arrive(ctx, "points") }), h("span", {}, point))),
    h("div", { class: "il-act" }, h("button", { type: "button", class: "il-button il-primary", onclick: () => does(ctx, { do: "points", points }) }, "Save my grade")));
}

function keyView(ctx) {
  const { view } = ctx;
  const { key } = view;
  const words = key.right ? "✓ Right" : key.own ? "↺ Not yet" : "✗ Wrong";
  return h("div", { key: "key", class: "il-key" },
    h("div", { class: `il-feedback ${key.right ? "il-right" : "il-wrong"}`, role: "status" },
      h("p", { class: "il-verdict" }, key.own ? `${words}: ${key.said}.` : `${words}. The answer: ${key.answer}.`),
      !key.right && !key.own && h("p", {}, `You said: ${key.said}.`),
      key.working && rich("p", {}, key.html.working),
      view.rubric && h("ul", { class: "il-points" }, view.rubric.map((point) => h("li", {}, point)))),
    key.belief && h("div", { class: "il-belief" }, h("p", {}, h("b", {}, "A common belief: "), `“${key.belief}”`), h("p", {}, h("b", {}, "But: "), rich("span", {}, key.html.but)), h("p", { class: "il-hint" }, `${key.source}.`)),
    h("div", { class: "il-act" },
      h("button", { key: "next", type: "button", class: "il-button il-primary", onclick: () => does(ctx, { do: "next" }), after: arrive(ctx, "key") }, "Next card"),
      undoButton(ctx), key.back && h("span", { class: "il-hint" }, `It comes back ${key.back}.`)));
}
