// A row that the learner composes: pieces are added from the palette, dragged to another place, moved and taken out by keyboard.

DIALS.chain = ({ dial, id, ctx, value }) => {
  const { local } = ctx.ui;
  const [load, land] = [`held:${dial.id}`, `land:${dial.id}`];
  const name = (item) => dial.options.find((option) => option.value === item)?.label ?? item;
  const full = value.length >= dial.most;
  const put = (items, words) => {
    local[load] = null;
    local[`said:${dial.id}`] = words;
    ctx.line.turn(dial.id, items);
  };
  const add = (item, at = value.length) => !full && put([...value.slice(0, at), item, ...value.slice(at)], `${name(item)} added as ${at + 1} of ${value.length + 1}`);
  const take = (i) => value.length > 1 && put(value.filter((_, k) => k !== i), `${name(value[i])} taken out`);
  const move = (i, to) => {
    if (to < 0 || to >= value.length || to === i) return;
    const rest = value.filter((_, k) => k !== i);
    put([...rest.slice(0, to), value[i], ...rest.slice(to)], `${name(value[i])} is now ${to + 1} of ${value.length}`);
  };
  // what is carried: a piece of the palette ("+relu"), or the one at a place ("2")
  const carry = (what) => (event) => {
    local[load] = what;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", what);
  };
  // where it would land: before the piece under the pointer, or behind it in its lower half
  const show = (at) => {
    if (local[land] === at) return;
    local[land] = at;
    ctx.redraw();
  };
  const over = (i) => (event) => {
    if (!local[load]) return;
    event.preventDefault();
    event.stopPropagation();
    const box = event.currentTarget.getBoundingClientRect();
    show(i === null ? value.length : i + (event.clientY > box.top + box.height / 2 ? 1 : 0));
  };
  const drop = (event) => {
    const [what, at] = [local[load], local[land] ?? value.length];
    if (!what) return;
    event.preventDefault();
    event.stopPropagation();
    show(null);
    if (what.startsWith("+")) add(what.slice(1), at);
    else move(Number(what), at > Number(what) ? at - 1 : at);
  };
  const leave = (event) => event.currentTarget.contains(event.relatedTarget) || show(null);
  const end = () => {
    local[load] = null;
    show(null);
  };
  const keys = (i) => (event) => {
    const to = { ArrowUp: i - 1, ArrowLeft: i - 1, ArrowDown: i + 1, ArrowRight: i + 1, Home: 0, End: value.length - 1 }[event.key];
    if (event.key === "Delete" || event.key === "Backspace") take(i);
    else if (to === undefined) return;
    else {
      local[`follow:${dial.id}`] = Math.min(Math.max(to, 0), value.length - 1);
      move(i, to);
    }
    event.preventDefault();
  };
  // a piece that was moved by keyboard keeps the focus at its new place
  const follow = (i) => (node) => {
    if (local[`follow:${dial.id}`] !== i || !node.isConnected) return;
    local[`follow:${dial.id}`] = null;
    node.focus();
  };
  const lands = (i) => (local[land] === i ? "il-land" : i === value.length - 1 && local[land] === value.length ? "il-land-after" : "");
  return h("div", { class: "il-chain" },
    h("ol", { class: "il-links", "aria-label": dial.label, ondragover: over(null), ondrop: drop, ondragleave: leave }, value.map((item, i) =>
      h("li", { key: `${i}`, class: `il-link ${lands(i)}`, draggable: "true", ondragstart: carry(String(i)), ondragover: over(i), ondragend: end },
        h("button", {
          type: "button", class: "il-grip", onkeydown: keys(i), after: follow(i), "aria-label": `${name(item)}, ${i + 1} of ${value.length}: arrow keys move it, Delete takes it out`,
        }, h("span", { class: "il-order", "aria-hidden": "true" }, String(i + 1)), name(item)),
        h("button", { type: "button", class: "il-out", disabled: value.length < 2, onclick: () => take(i), "aria-label": `Take ${name(item)}, ${i + 1}, out` }, "×")))),
    h("div", { class: "il-palette", role: "group", "aria-label": `${dial.label}: add` }, dial.options.map((option) =>
      h("button", {
        key: option.value, type: "button", class: "il-preset", disabled: full, draggable: full ? null : "true", ondragstart: carry(`+${option.value}`), ondragend: end,
        onclick: () => add(option.value), "aria-label": `Add ${option.label}`,
      }, `+ ${option.label}`))),
    h("p", { class: "il-hint" }, full ? `No more than ${dial.most}: take one out first.` : "Click to add, drag to place; arrow keys move a piece, Delete takes it out."),
    h("p", { class: "il-hearing", role: "status" }, local[`said:${dial.id}`] ?? ""));
};
