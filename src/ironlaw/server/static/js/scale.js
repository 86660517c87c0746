// Logarithmic axes.

// [low, high] as powers of ten, with room to spare on either side
export function span(values, before, after) {
  const good = values.filter((v) => v > 0 && Number.isFinite(v));
  return [Math.log10(Math.min(...good)) - before, Math.log10(Math.max(...good)) + after];
}

// value -> 0 … 1 along the decades
export const share = (value, [low, high]) => (Math.log10(value) - low) / (high - low);

// every decade, thinned to what fits, as powers; 1, 2 and 5 of each where there are few
export function ticks([low, high], most) {
  if (high - low < 1.7 && most >= 4) {
    const all = [];
    for (let power = Math.floor(low); power <= high; power += 1) all.push(power, power + Math.log10(2), power + Math.log10(5));
    return all.filter((power) => power >= low - 1e-9 && power <= high);
  }
  const step = [1, 2, 3, 6].find((s) => (high - low) / s <= most) ?? 6;
  const out = [];
  for (let power = Math.ceil(low / step) * step; power <= high; power += step) out.push(power);
  return out;
}
