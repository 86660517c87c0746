// Figures to read: three significant digits, a prefix, the unit in a lighter tone after a thin space.

import { el } from "./dom.js";

const UP = [[1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
const DOWN = [[1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"], [1e-12, "p"]];
const LONG = [[86400, "d"], [3600, "h"], [60, "min"]];
const EDGE = 1 - 5e-4; // 999.7 rounds to 1.00 of the next prefix

export function significant(value, digits = 3) {
  if (value === 0) return "0";
  if (!Number.isFinite(value)) return "∞";
  const places = digits - 1 - Math.floor(Math.log10(Math.abs(value) / EDGE));
  const text = Number(value.toPrecision(digits)).toFixed(Math.max(0, Math.min(places, 20)));
  return grouped(text.includes(".") ? text.replace(/\.?0+$/, "") : text);
}

// 1234567.5 -> 1,234,567.5; toLocaleString takes fifty times as long, and hundreds of figures are drawn at once
const grouped = (text) => text.replace(/^(-?\d+)(?=\D|$)/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ","));

// [number, unit] as they are written: split(3.35e12, "B/s") -> ["3.35", "TB/s"]
export function split(value, unit, digits = 3) {
  if (value === null || value === undefined) return ["none", ""];
  if (unit === "s" && value >= 120) {
    const [factor, name] = LONG.find(([f]) => value >= 2 * f) ?? [1, "s"];
    return [significant(value / factor, digits), name];
  }
  const steps = unit === "s" ? DOWN : unit === "J" || unit === "W" ? [...UP, ...DOWN.slice(1)] : UP;
  const [factor, prefix] = value === 0 ? [1, ""] : (steps.find(([f]) => value >= f * EDGE) ?? steps.at(-1));
  return [significant(value / factor, digits), prefix + unit];
}

export function plain(value, unit, digits = 3) {
  const [number, name] = split(value, unit, digits);
  return name ? `${number}\u202f${name}` : number;
}

// The exact figure, for hover: all the digits that a reader could want, in SI.
export function exact(value, unit) {
  const text = String(Number(value.toPrecision(9)));
  return `${text.includes("e") ? text : grouped(text)} ${unit}`.trim();
}

export function figure(value, unit, digits = 3) {
  const [number, name] = split(value, unit, digits);
  return el("span", { class: "figure", title: exact(value ?? 0, unit) }, number, name && el("span", { class: "unit" }, `\u202f${name}`));
}

export const percent = (share) => {
  const value = 100 * share;
  return value >= 99.95 ? "100" : value >= 10 ? value.toFixed(1).replace(/\.0$/, "") : significant(value, 2);
};

export const count = (value) => grouped(String(Math.round(value)));
export const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;

export const TERM = {
  memory: { symbol: "D/BW", name: "memory" },
  compute: { symbol: "O/R", name: "compute" },
  overhead: { symbol: "L", name: "overhead" },
};
