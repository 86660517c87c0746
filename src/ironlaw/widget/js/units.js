// Ticks and the few figures that are not known in Python, written by the same SI rules as ironlaw.units.

const UP = [[1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
const DOWN = [[1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"], [1e-12, "p"]];
const BINARY = [[2 ** 40, "Ti"], [2 ** 30, "Gi"], [2 ** 20, "Mi"], [2 ** 10, "Ki"], [1, ""]]; // of the unit "iB": bytes in powers of two
const PREFIXED = new Set(["B", "B/s", "FLOP", "OP", "FLOP/s", "OP/s", "FLOP/B", "OP/B", "Hz", "s", "W", "J", ""]);
const EDGE = 1 - 5e-4; // 999.7 rounds to 1.00 of the next prefix
const THIN = "\u202f";
const SIGNS = new Set(["%", "×"]); // written right after their number: 24%, 4×
const joined = (number, unit, gap = THIN) => (unit ? `${number}${SIGNS.has(unit) ? "" : gap}${unit}` : number);

function significant(value, digits = 3) {
  if (value === 0) return "0";
  if (!Number.isFinite(value)) return "∞";
  const places = digits - 1 - Math.floor(Math.log10(Math.abs(value) / EDGE));
  const text = Number(value.toPrecision(digits)).toFixed(Math.max(0, Math.min(places, 20)));
  return grouped(text.includes(".") ? text.replace(/\.?0+$/, "") : text);
}

const grouped = (text) => text.replace(/^(-?\d+)(?=\D|$)/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ","));

// [number, unit]: split(3.35e12, "B/s") -> ["3.35", "TB/s"]
function split(value, unit = "", digits = 3) {
  if (unit === "iB") {
    const [factor, prefix] = BINARY.find(([f]) => Math.abs(value) >= f * EDGE) ?? BINARY.at(-1);
    return [significant(value / factor, digits), `${prefix}B`];
  }
  if (value === 0 || !PREFIXED.has(unit)) return [significant(value, digits), unit];
  const small = unit === "s" || unit === "W" || unit === "J";
  const steps = unit === "s" ? DOWN : small ? [...UP, ...DOWN.slice(1)] : UP;
  const size = Math.abs(value);
  const [factor, prefix] = steps.find(([f]) => size >= f * EDGE) ?? steps.at(-1);
  return [significant(value / factor, digits), prefix + unit];
}

// The factor and prefix that a value is written with; the ticks of a linear axis share that of its end: 0.5 MB, 1 MB.
function prefixOf(value, unit) {
  if (!value || !PREFIXED.has(unit)) return [1, ""];
  const steps = unit === "s" ? DOWN : UP;
  return steps.find(([factor]) => value >= factor * EDGE) ?? [1, ""];
}

function written(value, unit, digits = 3) {
  return joined(...split(value, unit, digits));
}

const SUPERSCRIPT = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
const power = (exponent) => `10${[...String(exponent)].map((digit) => SUPERSCRIPT[digit]).join("")}`;

// As it is read out, by the rules of ironlaw.units.spoken: raised digits alone are passed over or misread.
const RAISED = /(?:(\d)[ \u202f]×[ \u202f])?10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)/g;
const lowered = (text) => [...text].map((sign) => (sign === "⁻" ? "minus " : "⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(sign))).join("");
const spoken = (text) => String(text).replace(RAISED, (_, digit, exponent) => `${digit ? `${digit} times ` : ""}10 to the power of ${lowered(exponent)}`);

// A tick: the number with its prefix and unit; bare ratios far from one as powers of ten, and a count that is not a round thousand in full:
// 1,024, not 1.024 k.
function tickText(value, unit) {
  if (unit === "" && Number.isInteger(value) && Math.abs(value) < 1e6 && value !== Number(value.toPrecision(3))) return grouped(String(value));
  if (unit === "" && value > 0 && value < 1e-3) {
    const exponent = Math.floor(Math.log10(value) + 1e-9);
    const digits = significant(value / 10 ** exponent);
    return digits === "1" ? power(exponent) : `${digits} × ${power(exponent)}`;
  }
  if (unit === "×" && (value >= 1e4 || (value > 0 && value < 1e-3))) return power(Math.round(Math.log10(value)));
  return joined(...split(value, unit, SIGNS.has(unit) ? 3 : 6));
}
