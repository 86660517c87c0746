// The controls. Native inputs under the paint: keyboard, touch and screen readers come with them.

// The first few in view, the rest in a fold. Nothing in the fold happens unseen: where a link, a saved view or a
// context turns one, or another dial brings one, it opens.
function dialsView(dials, ctx) {
  const { ui, spec, state } = ctx;
  const rest = dials.filter((dial) => dial.more);
  const shown = dials.filter((dial) => !dial.more).map((dial) => dialInTurn(dial, ctx));
  if (!rest.length) return shown;
  const all = spec.dials.filter((dial) => dial.more);
  const stand = JSON.stringify([all.map((dial) => state.dials?.[dial.id] ?? dial.value), rest.map((dial) => dial.id)]);
  const start = JSON.stringify([all.map((dial) => dial.value), all.filter((dial) => !dial.hidden).map((dial) => dial.id)]);
  if (stand !== (ui.local.restStood ?? start)) ui.local.restOpen = true;
  ui.local.restStood = stand;
  const toggle = (event) => { ui.local.restOpen = event.currentTarget.open; };
  // "toggle" comes in a task of its own, and a redraw before it would close the fold again
  const click = (event) => { ui.local.restOpen = !event.currentTarget.parentNode.open; };
  return [...shown, h("details", { key: "rest", class: "il-rest", open: Boolean(ui.local.restOpen), ontoggle: toggle },
    h("summary", { onclick: click }, `More dials (${rest.length})`), h("div", { class: "il-rest-dials" }, rest.map((dial) => dialInTurn(dial, ctx))))];
}

// A dial that stands where it stood comes after the picture.
function dialInTurn(dial, ctx) {
  const { ui, view, line } = ctx;
  const [name, value] = [`dial:${dial.id}`, standing(dial, ctx)];
  const last = ui.drawn.get(name);
  if (ui.pictureFirst && last && !view.error && dial.id !== line.touched && last.value === value) return last.item;
  const item = dialView(dial, ctx);
  ui.drawn.set(name, { value, item });
  return item;
}

function dialView(dial, ctx) {
  const id = `${ctx.ui.id}-${dial.id}`;
  const wrong = blame(dial, ctx);
  const hints = [dial.help, ...reasons(dial)].filter(Boolean);
  const about = { "aria-describedby": [hints.length && `${id}-help`, wrong && `${id}-error`].filter(Boolean).join(" ") || null };
  const props = { dial, id, ctx, value: standing(dial, ctx), about, wrong };
  const body = DIALS[dial.type](props);
  const tail = [
    hints.length ? h("p", { key: "help", class: "il-hint", id: `${id}-help` }, hints.map((hint) => h("span", {}, hint))) : null,
    wrong && h("p", { key: "error", class: "il-error", id: `${id}-error`, role: "alert" }, wrong),
  ];
  const grouped = ["choice", "chain", "pins"].includes(dial.type);
  const head = h(grouped ? "legend" : "label", grouped ? {} : { for: id }, dial.label, dial.unit && h("span", { class: "il-unit" }, `\u00a0${dial.unit}`));
  const attributes = { key: dial.id, class: `il-dial il-${dial.type}`, "data-dial": dial.id, ...(grouped ? about : {}) };
  return h(grouped ? "fieldset" : "div", attributes, dial.type === "switch" ? [body] : [head, body], tail);
}

// Where a dial stands: as requested, or where Python put it because the rest does not allow that; what was requested is kept.
function standing(dial, ctx) {
  const requested = ctx.state.dials?.[dial.id] ?? dial.value;
  const move = ctx.view.moved?.[dial.id];
  return move && same(move.asked, requested) ? move.value : requested;
}

// Why an option can't be taken, in sight and not only on hover.
function reasons(dial) {
  const why = new Map(); // a reason that only differs by the option's name is given once for all of them
  for (const option of dial.options ?? []) {
    if (!option.disabled || dial.type !== "choice") continue;
    const reason = option.disabled.replace(`no ${option.label}`, "no such");
    why.set(reason, [...(why.get(reason) ?? []), option]);
  }
  return [...why].map(([reason, [first, ...rest]]) => (rest.length ? `${[first, ...rest].map((option) => option.label).join(", ")}: ${reason}` : `${first.label}: ${first.disabled}`));
}

// An error stands at the dial it names, or at the one that was touched last.
function blame(dial, ctx) {
  const draft = ctx.ui.local[`wrong:${dial.id}`];
  if (draft) return draft;
  const error = ctx.view.error;
  if (!error) return null;
  const at = error.dial ?? ctx.line.touched;
  return at === dial.id ? error.message ?? String(error) : null;
}

const DIALS = {
  choice({ dial, id, ctx, value }) {
    return h("div", { class: "il-options" }, dial.options.map((option) =>
      h("label", { key: String(option.value), title: option.disabled ?? null },
        h("input", {
          type: "radio", name: id, checked: option.value === value, disabled: Boolean(option.disabled || dial.idle),
          onchange: () => ctx.line.turn(dial.id, option.value),
        }),
        h("span", {}, option.label))));
  },

  select({ dial, id, ctx, value, about }) {
    const at = dial.options.findIndex((option) => option.value === value);
    const turn = (event) => ctx.line.turn(dial.id, dial.options[Number(event.target.value)].value);
    const groups = [...new Set(dial.options.map((option) => option.group ?? ""))];
    const options = (group) => dial.options.map((option, i) => (option.group ?? "") === group &&
      h("option", { key: i, value: i, disabled: Boolean(option.disabled) }, option.disabled ? `${option.label} (${option.disabled})` : option.label));
    return h("select", { id, value: at, onchange: turn, ...about },
      groups.map((group) => (group ? h("optgroup", { key: group, label: group }, options(group)) : options(group))));
  },

  range: (props) => slider(props, linearSteps(props.dial)),
  log: (props) => slider(props, logSteps(props.dial)),

  switch({ dial, id, ctx, value, about }) {
    return h("label", { class: "il-switch-row", for: id },
      h("input", { type: "checkbox", role: "switch", id, checked: Boolean(value), onchange: (event) => ctx.line.turn(dial.id, event.target.checked), ...about }),
      h("span", { class: "il-knob", "aria-hidden": "true" }), h("span", {}, dial.label), h("b", { class: "il-unit" }, value ? "on" : "off"));
  },
};

// A slider over a list of steps, and a box for any number between them.
function slider({ dial, id, ctx, value, about, wrong }, steps) {
  const { local } = ctx.ui;
  const [draft, bad] = [`draft:${dial.id}`, `wrong:${dial.id}`];
  const type = (event) => {
    local[draft] = event.target.value;
    const number = readNumber(event.target.value).find((each) => allowed(dial, each));
    const good = number !== undefined;
    local[bad] = good ? null : `Give a ${dial.whole ? "whole " : ""}number from ${significant(dial.min, 6)} to ${significant(dial.max, 6)}.`;
    if (good) ctx.line.turn(dial.id, number);
    else ctx.redraw();
  };
  const leave = () => {
    local[draft] = local[bad] = null;
    ctx.redraw();
  };
  const stepTo = (wanted) => {
    pause(dial, ctx.ui); // whoever turns it by hand has
    show(wanted);
  };
  const show = (wanted) => {
    local[draft] = local[bad] = null;
    const [from, to] = [nearestStep(steps, value, dial.type), Math.max(0, Math.min(steps.length - 1, wanted))];
    ctx.line.turn(dial.id, steps[to], {}, steps[to + Math.sign(to - from)]);
  };
  return h("div", { class: `il-slide ${dial.max >= 1e6 ? "il-long" : ""}` },
    h("input", {
      type: "range", min: 0, max: steps.length - 1, step: 1, value: nearestStep(steps, value, dial.type),
      oninput: (event) => stepTo(Number(event.target.value)),
      "aria-label": dial.label, "aria-valuetext": joined(Number.isFinite(value) ? significant(value, 6) : String(value), dial.unit, " "),
    }),
    numberField({
      id, least: dial.min, most: dial.max, inputmode: dial.whole ? "numeric" : "decimal",
      value: local[draft] ?? (Number.isFinite(value) ? fieldText(dial.whole ? value : Number(value.toPrecision(6))) : ""),
      step: (way) => stepTo(nearestStep(steps, value, dial.type) + way),
      oninput: type, onblur: leave, "aria-invalid": wrong ? "true" : null, ...about,
    }),
    dial.play ? playView(dial, ctx, steps.length - 1, () => nearestStep(steps, ctx.line.state.dials?.[dial.id] ?? dial.value, dial.type), show) : null,
    dial.presets?.length ? h("div", { key: "presets", class: "il-presets", role: "group", "aria-label": `${dial.label}: presets` },
      dial.presets.map((preset) => h("button", {
        key: String(preset), type: "button", class: "il-preset", "aria-pressed": preset === value ? "true" : "false",
        onclick: () => { local[draft] = local[bad] = null; ctx.line.turn(dial.id, preset); },
      }, dial.presets.every((each) => Math.abs(each) < 1e5) ? grouped(String(preset)) : written(preset, "")))) : null);
}

function linearSteps(dial) {
  const step = dial.step || (dial.max - dial.min) / 100;
  const count = Math.floor((dial.max - dial.min) / step + 1e-9);
  return Array.from({ length: count + 1 }, (_, i) => Number((dial.min + i * step).toPrecision(12)));
}

// 1, 2, 3, 4, 6, 8, 12, 16 … for whole numbers, a round decimal ladder for the rest; both ends always.
function logSteps(dial) {
  if (dial.steps?.length) return dial.steps;
  const whole = Number.isInteger(dial.min) && dial.min >= 1 && (dial.step ?? 1) === 1;
  const [base, rungs] = whole ? [2, [1, 1.5]] : [10, [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8]];
  const out = [dial.min];
  for (let power = Math.floor(Math.log(dial.min) / Math.log(base)); base ** power <= dial.max; power += 1) {
    for (const rung of rungs) {
      const value = Number((rung * base ** power).toPrecision(12));
      if (value > dial.min && value < dial.max && (!whole || Number.isInteger(value))) out.push(value);
    }
  }
  return [...out, dial.max];
}

const stepsOf = (dial) => (dial.type === "log" ? logSteps(dial) : linearSteps(dial));

function nearestStep(steps, value, type) {
  const far = (step) => Math.abs(type === "log" ? Math.log(step / value) : step - value);
  return steps.reduce((best, step, i) => (far(step) < far(steps[best]) ? i : best), 0);
}
