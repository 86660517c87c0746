// A mark that stands for a dial: dragging it turns the dial, and with the mark in focus the arrow keys do, as on a slider. It may stand for
// two dials, one along each axis. `drag` of a mark is one hold or a list of them: the dial, the axis, and where the axis shows another
// quantity than the dial, `per` (so much of the axis for one of the dial) or `stops`.

const STRIDE = 10; // stops that Page Up and Page Down go on
const held = new WeakMap(); // figure -> its marks that stand for a dial

const dragged = (figure) => {
  if (!held.has(figure)) held.set(figure, figure.marks.filter((mark) => mark.drag));
  return held.get(figure);
};

// Where the dial can stand, as [place on the axis, value], in the order of the axis.
function stopsOf(hold, dial) {
  const values = () => (dial.options ?? stepsOf(dial).map((value) => ({ value }))).map(({ value }) => [value * (hold.per ?? 1), value]);
  return (hold.stops ?? values()).filter(([place, value]) => isNumber(place) && allowed(dial, value)).sort((a, b) => a[0] - b[0]);
}

function nearestStop(stops, place, log) {
  const far = ([at]) => Math.abs(log ? Math.log(at / place) : at - place);
  return stops.reduce((best, stop, i) => (far(stop) < far(stops[best]) ? i : best), 0);
}

// The dials that a mark stands for now: none where an instrument has no such dial, hides it, or lets nobody turn it.
const holdsOf = (mark, ctx) => [mark.drag ?? []].flat().flatMap((hold) => {
  const { line, spec, view } = ctx;
  const declared = spec.dials?.find((d) => d.id === hold.dial);
  const dial = declared && { ...declared, ...view?.dials?.[declared.id] };
  if (!dial || dial.hidden || dial.idle || spec.locked) return [];
  if (hold.pin === undefined) return [{ hold, dial, id: dial.id, value: () => standing(dial, { state: line.state ?? {}, view: view ?? {} }), put: (value) => value }];
  const pins = spec.dials.find((d) => d.type === "pins");
  const now = () => line.state.dials?.[pins.id] ?? [];
  const put = (value) => now().map((pin, i) => (i === hold.pin ? { ...pin, values: { ...pin.values, [dial.id]: value } } : pin));
  return [{ hold, dial, id: pins.id, value: () => now()[hold.pin]?.values[dial.id], put }];
});

// What a picture is drawn again for although its marks are the same: what a dial may be, and where it stands.
const holdState = (figure, ctx) => JSON.stringify(dragged(figure).flatMap((mark) => holdsOf(mark, ctx).map(({ dial, value }) => [dial.id, dial.min, dial.max, value()])));

// Turns what changed, all of it in one turn. `wanted`: [hold, place among its stops, its stops].
function turnTo(wanted, ctx) {
  const moved = wanted.filter(([one, at, stops]) => stops[at][1] !== one.value());
  if (!moved.length) return;
  const [[first, at, stops], ...rest] = moved;
  const from = nearestStop(stops.map(([, value]) => [value]), first.value(), false);
  const next = stops[at + Math.sign(at - from)]?.[1];
  const also = Object.fromEntries(rest.map(([one, i, theirs]) => [one.id, one.put(theirs[i][1])]));
  ctx.line.turn(first.id, first.put(stops[at][1]), also, next === undefined ? undefined : first.put(next));
}

function drag(event, mark, plan, ctx) {
  const holds = holdsOf(mark, ctx).map((one) => [one, stopsOf(one.hold, one.dial)]);
  if (!holds.length) return;
  event.preventDefault();
  const root = event.currentTarget;
  root.setPointerCapture(event.pointerId);
  ctx.ui.held = true;
  root.classList.add("il-held");
  const move = (e) => {
    const frame = root.getBoundingClientRect();
    turnTo(holds.map(([one, stops]) => {
      const scale = one.hold.axis === "x" ? plan.x : plan.y;
      const place = scale.invert(one.hold.axis === "x" ? e.clientX - frame.left : e.clientY - frame.top);
      return [one, nearestStop(stops, place, scale.log), stops];
    }), ctx);
  };
  const listeners = [["pointermove", move], ["pointerup", () => end()], ["pointercancel", () => end()]];
  const end = () => {
    ctx.ui.held = false;
    root.classList.remove("il-held");
    for (const [name, does] of listeners) root.removeEventListener(name, does);
  };
  for (const [name, does] of listeners) root.addEventListener(name, does);
}

const WAYS = { ArrowRight: ["x", 1], ArrowUp: ["y", 1], ArrowLeft: ["x", -1], ArrowDown: ["y", -1], PageUp: ["", STRIDE], PageDown: ["", -STRIDE], Home: ["", -Infinity], End: ["", Infinity] };

// A key on the mark that has the focus; true where it was meant for this. All arrows turn a single dial; of two, each its own.
function nudge(event, mark, ctx) {
  const holds = WAYS[event.key] ? holdsOf(mark, ctx) : [];
  if (!holds.length) return false;
  event.preventDefault();
  const [axis, way] = WAYS[event.key];
  const one = holds.find(({ hold }) => hold.axis === axis) ?? holds[0];
  const stops = stopsOf(one.hold, one.dial);
  const at = nearestStop(stops.map(([, value]) => [value]), one.value(), false);
  const down = one.hold.axis === "y" && event.currentTarget.dataset.down ? -1 : 1; // rows are counted from the top
  turnTo([[one, Math.max(0, Math.min(stops.length - 1, at + (axis === "y" ? down * way : way))), stops]], ctx);
  return true;
}

// Heard at every step: three digits are enough, and all of a whole number.
const rounded = (text) => text.replace(/(?<![\d.,])\d[\d,]*\.\d+(?![\d.])/g, (number) => {
  const value = Number(number.replaceAll(",", ""));
  return Math.abs(value) >= 1000 ? grouped(String(Math.round(value))) : significant(value);
});

// What a screen reader says of it: a slider with the dial's name, where it stands, and what else the mark tells.
function sliderOf(mark, holds, values) {
  const [{ dial, hold, value }] = holds;
  const text = ({ dial: each, value: stands }) => each.options?.find((option) => option.value === stands())?.label ?? joined(each.whole ? grouped(String(stands())) : significant(stands()), each.unit, " ");
  const ends = dial.options ? dial.options.map((option) => option.value) : [dial.min, dial.max];
  const said = holds.length > 1 ? holds.map((one) => `${one.dial.label} ${text(one)}`).join(", ") : text(holds[0]);
  const plainly = (words) => words?.toLowerCase().replace(/\s/g, " ");
  const known = new Set([mark.name, said, ...holds.map(({ dial: { label } }) => label)].filter(Boolean).map(plainly));
  const told = values.filter((pair) => !pair.some((words) => known.has(plainly(words)))).flat().filter(Boolean).join(" ");
  return {
    role: "slider", "aria-label": [mark.name ?? mark.label, dial.label].filter(Boolean).join(": "), "aria-valuemin": Math.min(...ends), "aria-valuemax": Math.max(...ends),
    "aria-valuenow": value(), "aria-valuetext": [said, rounded(told)].filter(Boolean).join("; "), "aria-orientation": hold.axis === "x" ? "horizontal" : "vertical",
  };
}
