// The dials' settings. They live in the address, so that a reload or a link brings the view back.

const FIXED = { workload: "resnet50", hardware: "h200_sxm", mode: "eager", dispatch: "queued", figures: "measured" };
const OPTIONAL = ["batch", "seq", "context", "phase", "dtype"];
export const KEYS = [...Object.keys(FIXED), ...OPTIONAL];

export function fromAddress(registry) {
  const given = new URLSearchParams(location.search);
  const state = { ...FIXED };
  for (const key of KEYS) if (given.has(key)) state[key] = given.get(key);
  return { ...defaults(registry, state), ...state };
}

// What a workload's settings are where nobody has said.
export function defaults(registry, state) {
  const takes = registry.workloads.find((w) => w.slug === state.workload)?.takes ?? {};
  return { batch: "1", ...Object.fromEntries(Object.entries(takes).map(([key, value]) => [key, String(value)])) };
}

// Only what the workload takes: a sequence length has no meaning for an image model.
export function query(registry, state) {
  const takes = registry.workloads.find((w) => w.slug === state.workload)?.takes;
  const keys = [...Object.keys(FIXED), ...OPTIONAL.filter((key) => (takes ? key in takes : key in state))];
  return new URLSearchParams(keys.filter((key) => state[key] !== undefined).map((key) => [key, state[key]]));
}

let timer = 0;
export function toAddress(search) {
  clearTimeout(timer); // browsers limit how often an address may change
  timer = setTimeout(() => history.replaceState(null, "", `?${search}${location.hash}`), 120);
}
