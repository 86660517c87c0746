// A page is described afresh on every change and the description laid over what is there: nodes that stay keep their
// focus, their scroll position and their running transitions. Fifty lines do what a framework would be loaded for.

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "g", "path", "rect", "line", "circle", "text", "tspan", "defs", "pattern", "clipPath"]);
// these live on the node, not in its attributes, once somebody has touched it
const PROPERTIES = new Set(["value", "checked", "disabled", "open", "selected", "hidden", "indeterminate"]);
const attributesOf = new WeakMap(); // node -> its latest attributes
const itemOf = new WeakMap(); // node -> its latest item

// Where the labs begin: a page says so where that is not the host's root.
const fromRoot = (address) => address.replace(/^\//, document.documentElement.dataset.root ?? "/");

const h = (tag, attributes, ...children) => ({ tag, attributes: attributes ?? {}, key: attributes?.key, children: flat(children) });
const flat = (children) => children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== "");

// Text that Python wrote as HTML (words.md, formulas); everything else stays text.
const rich = (tag, attributes, html) => h(tag, { ...attributes, html: html ?? "" });

function create(item) {
  if (typeof item !== "object") return document.createTextNode(String(item));
  return SVG_TAGS.has(item.tag) ? document.createElementNS(SVG, item.tag) : document.createElement(item.tag);
}

function dress(node, attributes) {
  const before = attributesOf.get(node) ?? {};
  for (const key of Object.keys(before)) if (!(key in attributes)) give(node, key, undefined, before[key]);
  for (const [key, value] of Object.entries(attributes)) if (value !== before[key] || PROPERTIES.has(key)) give(node, key, value, before[key]);
  attributesOf.set(node, attributes);
}

function give(node, key, value, before) {
  if (key === "key" || key === "after" || key === "late") return;
  if (key === "html") {
    if (value !== before) node.innerHTML = value ?? "";
  } else if (key.startsWith("on")) node[key] = value ?? null;
  else if (PROPERTIES.has(key)) {
    const wanted = key === "value" ? value ?? "" : Boolean(value);
    if (node[key] !== wanted && !(key === "value" && String(node.value) === String(wanted))) node[key] = wanted;
  } else if (value === undefined || value === null || value === false) node.removeAttribute(key);
  else node.setAttribute(key, value === true ? "" : value);
}

const fits = (node, item) => {
  if (typeof item !== "object") return node.nodeType === 3;
  return node.nodeType === 1 && node.localName === item.tag && (attributesOf.get(node)?.key ?? undefined) === item.key;
};

// Lays `items` over the children of `parent`. In haste, what is marked `late` stays as it was until the next time.
let hasty = false;
function patch(parent, items, haste = false) {
  const outer = hasty; // a film inside a piece lays its own
  hasty = haste;
  lay(parent, flat([items]));
  hasty = outer;
}

// True where all of them lie.
function lay(parent, items) {
  let whole = true;
  let rest = null; // key -> node, of what is still to be laid; looked up only where something is out of place
  let keys = null;
  let at = parent.firstChild;
  for (const item of items) {
    if (at && !fits(at, item)) {
      rest ??= nodesByKey(at);
      keys ??= new Set(items.map((other) => other.key));
      while (at && isGone(at, keys)) at = removeNode(at); // first, so that those after it can stay where they are
    }
    let node = at;
    if (!node || !fits(node, item)) {
      const match = rest?.get(item.key);
      node = match && fits(match, item) ? match : create(item);
      parent.insertBefore(node, at);
    } else at = at.nextSibling;
    if (typeof item !== "object") {
      if (node.data !== String(item)) node.data = String(item);
      continue;
    }
    const before = itemOf.get(node);
    if (before === item) continue;
    if (hasty && before !== undefined && item.attributes.late) {
      whole = false;
      continue;
    }
    const laid = "html" in item.attributes || lay(node, item.children); // a select's options stand before its value is set
    whole &&= laid;
    itemOf.set(node, laid ? item : null);
    if (attributesOf.get(node) !== item.attributes) dress(node, item.attributes);
    item.attributes.after?.(node);
  }
  while (at) at = removeNode(at);
  return whole;
}

const keyOf = (node) => attributesOf.get(node)?.key;
const isGone = (node, keys) => keyOf(node) !== undefined && !keys.has(keyOf(node));

function nodesByKey(from) {
  const nodes = new Map();
  for (let node = from; node; node = node.nextSibling) if (keyOf(node) !== undefined) nodes.set(keyOf(node), node);
  return nodes;
}

function removeNode(node) {
  const next = node.nextSibling;
  node.remove();
  return next;
}

// What is made from the same things stays the same item, and `patch` passes over it.
function memoize(store, name, from, make) {
  const last = store.get(name);
  if (last && from.every((value, i) => value === last.from[i])) return last.item;
  const item = make();
  store.set(name, { from, item });
  return item;
}

let uniqueCount = 0;
const unique = (name) => `il-${name}-${(uniqueCount += 1)}`;
