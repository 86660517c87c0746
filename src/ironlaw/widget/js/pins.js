// Points that the learner keeps: where the dials stand, under a name. Python draws them; dragging one moves it, not the dials.

DIALS.pins = ({ dial, ctx, value }) => {
  const { line, ui } = ctx;
  const [status, draft] = [`said:${dial.id}`, (i) => `name:${dial.id}:${i}`];
  const put = (pins, words) => {
    ui.local[status] = words;
    line.turn(dial.id, pins);
  };
  const current = () => Object.fromEntries(dial.of.map((id) => [id, line.state.dials[id]]).filter(([, at]) => at !== undefined));
  const fresh = (name) => (value.some((pin) => pin.name === name) ? fresh(`${name}′`) : name);
  // named after where the dials stand, and not after the view that they have just left
  const add = () => line.settled(() => {
    const { suggest } = line.view().dials?.[dial.id] ?? dial;
    const name = fresh(suggest || `Pin ${value.length + 1}`).slice(0, LONGEST_NAME);
    put([...value, { name, values: current() }], `${name} pinned`);
  });
  const rename = (i) => (event) => {
    const name = event.target.value.trim().slice(0, LONGEST_NAME);
    ui.local[draft(i)] = null;
    if (name && name !== value[i].name) put(value.map((pin, k) => (k === i ? { ...pin, name } : pin)), `renamed to ${name}`);
    else ctx.redraw();
  };
  const type = (i) => (event) => {
    ui.local[draft(i)] = event.target.value;
  };
  const goes = (pin) => {
    ui.local[status] = `the dials stand at ${pin.name}`;
    line.turn(dial.id, value, pin.values);
  };
  const full = value.length >= dial.most;
  return h("div", { class: "il-pins" },
    value.length ? h("ul", { class: "il-pin-list", role: "list" }, value.map((pin, i) => h("li", { key: i, class: "il-pin" },
      h("input", { type: "text", maxlength: LONGEST_NAME, "aria-label": `Name of pin ${i + 1}`, value: ui.local[draft(i)] ?? pin.name, oninput: type(i), onchange: rename(i) }),
      h("button", { type: "button", class: "il-preset", "aria-label": `Set the dials to ${pin.name}`, onclick: () => goes(pin) }, "go"),
      h("button", { type: "button", class: "il-preset", "aria-label": `Remove ${pin.name}`, onclick: () => put(value.filter((_, k) => k !== i), `${pin.name} removed`) }, "×")))) : null,
    h("button", { type: "button", class: "il-preset", disabled: full, onclick: add }, full ? `At most ${dial.most} pins` : "Pin this point"),
    h("p", { class: "il-hearing", role: "status" }, ui.local[status] ?? ""));
};
