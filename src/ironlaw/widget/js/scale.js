// Axes as functions: log, linear and band (one place per name).

const finite = (values) => values.filter((v) => typeof v === "number" && Number.isFinite(v));

// The next round figure that is not below: near enough that no picture is half empty.
const ROUND = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];
function upTo(high, digits = ROUND) {
  const size = 10 ** Math.floor(Math.log10(high));
  return digits.map((digit) => digit * size).find((end) => end >= high * (1 - 1e-9));
}

// Where an axis begins and ends if Python does not say: bars stand on a decade (or on zero), points get some room. The ends are round, so
// that an axis stands still while a dial moves what is on it.
function domainOf(axis, values, grounded) {
  if (axis.domain) return axis.domain;
  if (axis.scale === "log") {
    const good = finite(values).filter((v) => v > 0);
    if (!good.length) return [1, 10];
    const [low, high] = [Math.log10(Math.min(...good)), Math.log10(Math.max(...good))];
    const half = (place, round) => round(place * 2) / 2;
    return [10 ** (grounded ? Math.floor(low - 0.12) : half(low - 0.04, Math.floor)), 10 ** half(high + 0.02, Math.ceil)];
  }
  const good = finite(values);
  const [low, high] = [Math.min(...good, grounded ? 0 : Infinity), Math.max(...good, grounded ? 0 : -Infinity)];
  if (grounded && low >= 0) return [0, high > 0 ? upTo(high * 1.02) : 1];
  const room = (high - low || Math.abs(high) || 1) * 0.05;
  const step = upTo((high - low || Math.abs(high) || 1) / 10, [1, 2, 5, 10]);
  const start = Math.floor((low - room) / step) * step;
  return [low >= 0 ? Math.max(0, start) : start, grounded && high <= 0 ? 0 : Math.ceil((high + room) / step) * step];
}

// range: pixels from the axis' low end to its high end
function makeScale(axis, domain, [from, to]) {
  if (axis.scale === "band") {
    const step = (to - from) / axis.names.length;
    const at = (name) => from + step * (axis.names.indexOf(name) + 0.5);
    return { axis, band: true, step: Math.abs(step), at, invert: (px) => (px - from) / step, low: from, high: to }; // so many places on
  }
  const log = axis.scale === "log";
  const place = log ? (v) => Math.log10(v) : (v) => v;
  const [low, high] = domain.map(place);
  const at = (v) => from + ((place(v) - low) / (high - low)) * (to - from);
  // what is under the axis (a term of zero on a log axis) is drawn at its foot, never outside
  const clamped = (v) => (log && !(v > 0) ? from : Math.min(Math.max(at(v), Math.min(from, to)), Math.max(from, to)));
  const invert = (px) => {
    const v = low + ((px - from) / (to - from)) * (high - low);
    return log ? 10 ** v : v;
  };
  return { axis, log, domain, at: clamped, invert, low: from, high: to };
}

// A long unit stands once, in the axis' name, and not at every tick.
const standsOnce = (unit) => (unit ?? "").length > 2;

// As many ticks as have room for their words; `size` gives the pixels a label takes along the axis.
function ticksOf(scale, size, gap, place = (tick) => scale.at(tick.value)) {
  const { axis, domain, log } = scale;
  const long = standsOnce(axis.unit);
  const [step, name] = log ? [1, axis.unit ?? ""] : axis.unit === "s" ? longTime(domain) : axis.unit === "iB" ? binaryUnit(domain) : [1, axis.unit ?? ""];
  const scaled = !(log || long || !name || name === "%" || name === "×"); // one prefix for all ticks of a linear axis: 0.5 s beside 1 s
  const [factor, prefix] = scaled ? prefixOf(Math.max(...domain.map((end) => Math.abs(end / step))), name) : [1, ""];
  const text = (value) => (scaled ? joined(significant(value / factor, 6), prefix + name) : tickText(value, long ? "" : name));
  const tick = (value) => ({ value: value * step, text: text(value).replace("-", "\u2212") });
  for (const values of axis.ticks?.length ? thinned(axis.ticks.map((value) => value / step)) : log ? (name === "iB" ? binaryTicks(domain) : logTicks(domain)) : linearTicks(domain.map((end) => end / step))) {
    const ticks = values.map(tick);
    const clear = ticks.every((tick, i) => i === 0 || Math.abs(place(tick) - place(ticks[i - 1])) >= (size(tick) + size(ticks[i - 1])) / 2 + gap);
    if (clear) return ticks;
  }
  return [];
}

// Seconds that are many: minutes, hours or days at round figures, instead of 70,000 s.
const LONG_TIMES = [[86400, "d"], [3600, "h"], [60, "min"]];
const longTime = ([low, high]) => LONG_TIMES.find(([size]) => Math.max(Math.abs(low), Math.abs(high)) >= 3 * size) ?? [1, "s"];

// Bytes in powers of two: 1 KiB, 32 KiB, 1 MiB … on a log axis, round figures of one unit on a linear one.
const binaryUnit = ([low, high]) => BINARY.map(([size, prefix]) => [size, `${prefix}B`]).find(([size]) => Math.max(Math.abs(low), Math.abs(high)) >= size) ?? [1, "B"];
function* binaryTicks([low, high]) {
  for (const step of [5, 10, 20]) {
    const from = Math.ceil(Math.log2(low) / step);
    yield Array.from({ length: Math.max(0, Math.floor(Math.log2(high) / step) - from + 1) }, (_, i) => 2 ** (step * (from + i)));
  }
}

// Python's own ticks: all, every second, every third …
function* thinned(ticks) {
  for (let every = 1; every <= ticks.length; every += 1) yield ticks.filter((_, i) => i % every === 0);
}

function* logTicks([low, high]) {
  const [from, to] = [Math.log10(low) - 1e-9, Math.log10(high) + 1e-9];
  const build = (digits, step) => {
    const out = [];
    for (let exponent = Math.floor(from / step) * step; exponent <= to; exponent += step) {
      for (const digit of digits) {
        const at = exponent + Math.log10(digit);
        if (at >= from && at <= to) out.push(Number((digit * 10 ** exponent).toPrecision(3)));
      }
    }
    return out;
  };
  if (to - from < 1.2) yield build([1, 2, 3, 5, 7], 1);
  if (to - from < 2.2) yield build([1, 2, 5], 1);
  if (to - from < 1.5) yield build([1, 3], 1);
  for (const step of [1, 2, 3, 6, 9, 12]) yield build([1], step);
}

function* linearTicks([low, high]) {
  const rough = (high - low) / 12;
  const size = 10 ** Math.floor(Math.log10(rough));
  for (const factor of [1, 2, 2.5, 5, 10, 20, 25, 50, 100]) {
    const step = factor * size;
    if (step < rough) continue;
    const out = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k += 1) out.push(Number((k * step).toPrecision(10)));
    yield out;
  }
}
