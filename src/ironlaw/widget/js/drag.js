// Dragging a mark turns the dial it stands for; from the keyboard Shift and an arrow do the same.

// Where the dial can stand, as [place on the axis, value]. Python gives `stops` where the axis shows another quantity than the dial.
const stopsOf = (hold, dial) => hold.stops ?? stepsOf(dial).map((value) => [value, value]);

function nearestStop(stops, place, log) {
  const far = ([at]) => Math.abs(log ? Math.log(at / place) : at - place);
  return stops.reduce((best, stop, i) => (far(stop) < far(stops[best]) ? i : best), 0);
}

// A mark stands for a dial itself, or for the same dial inside a pin.
function targetOf(hold, ctx) {
  const { line, spec } = ctx;
  const dial = spec.dials.find((d) => d.id === hold.dial);
  if (!dial) return null;
  if (hold.pin === undefined) return { dial, value: () => line.state.dials[dial.id], turn: (value) => line.turn(dial.id, value) };
  const pins = spec.dials.find((d) => d.type === "pins");
  const now = () => line.state.dials[pins.id];
  const pinsWith = (value) => now().map((pin, i) => (i === hold.pin ? { ...pin, values: { ...pin.values, [dial.id]: value } } : pin));
  return { dial, value: () => now()[hold.pin]?.values[dial.id], turn: (value) => line.turn(pins.id, pinsWith(value)) };
}

function drag(event, hold, plan, ctx) {
  const target = targetOf(hold, ctx);
  if (!target) return;
  event.preventDefault();
  const root = event.currentTarget;
  const stops = stopsOf(hold, target.dial);
  const scale = hold.axis === "x" ? plan.x : plan.y;
  root.setPointerCapture(event.pointerId);
  const move = (e) => {
    const frame = root.getBoundingClientRect();
    const place = scale.invert(hold.axis === "x" ? e.clientX - frame.left : e.clientY - frame.top);
    const value = stops[nearestStop(stops, place, scale.log)][1];
    if (value !== target.value()) target.turn(value);
  };
  const end = () => {
    for (const [name, does] of [["pointermove", move], ["pointerup", end], ["pointercancel", end]]) root.removeEventListener(name, does);
  };
  for (const [name, does] of [["pointermove", move], ["pointerup", end], ["pointercancel", end]]) root.addEventListener(name, does);
}

const WAYS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };

// One stop on for an arrow with Shift, on the mark that has the focus; true where the key was meant for this.
function nudge(event, targets, ctx) {
  const hold = event.shiftKey && WAYS[event.key] && targets[[...event.currentTarget.children].indexOf(event.target)]?.mark.drag;
  const target = hold && targetOf(hold, ctx);
  if (!target) return false;
  event.preventDefault();
  const stops = stopsOf(hold, target.dial);
  const at = nearestStop(stops.map(([, value]) => [value]), target.value(), false);
  const next = Math.max(0, Math.min(stops.length - 1, at + WAYS[event.key]));
  if (next !== at) target.turn(stops[next][1]);
  return true;
}
