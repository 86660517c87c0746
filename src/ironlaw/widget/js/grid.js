// A table that sorts by any column and filters by words and by kind. Sorting and filtering work on the data; only the first rows
// are in the page until somebody asks for more, so three thousand rows are as quick as thirty.

const FIRST = 100; // rows, unless the table says how many
const ORDER = new Intl.Collator("en", { numeric: true }); // made once: it is what sorting words costs

// kinds of a cell: a fused kernel has several
const kindsOf = (value) => String(value).split(" + ");

function shownCell(value, column) {
  if (value === null || value === undefined) return "–";
  if (column.unit === undefined) return String(value);
  if (column.unit === "") return grouped(String(value));
  return written(value, column.unit);
}

// sort: [column, way]; way 1 rising, -1 falling, 0 by size whatever the sign
function compared(a, b, way) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (way === 0) return Math.abs(b) - Math.abs(a);
  if (typeof a === "number" && typeof b === "number") return way * (a - b);
  return way * ORDER.compare(String(a), String(b));
}

// What a reader has set: words and kind to filter by, the column to sort by, how many rows.
const gridStart = (table) => ({ words: "", kind: "", sort: table.sort, most: table.first ?? FIRST });

// a figure falls first, words rise first; once more turns it round
function turnedSort(table, state, i) {
  const falls = table.columns[i].unit !== undefined;
  const [at, way] = state.sort ?? [];
  return [i, at === i && way !== 0 ? -way : falls ? -1 : 1];
}

function gridPlaces(table, state) {
  const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
  table.texts ??= table.rows.map((row) => row.filter((_, i) => table.columns[i].unit === undefined).join(" ").toLowerCase());
  const places = table.rows.map((_, i) => i).filter((i) => words.every((word) => table.texts[i].includes(word)) && (!state.kind || kindsOf(table.rows[i][table.kind]).includes(state.kind)));
  if (state.sort) places.sort((a, b) => compared(table.rows[a][state.sort[0]], table.rows[b][state.sort[0]], state.sort[1]) || a - b);
  return places;
}

function gridKinds(table) {
  const counts = new Map();
  for (const row of table.rows) for (const kind of new Set(kindsOf(row[table.kind]))) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
}

// `state` as gridStart gives it, `set` changes some of it and draws again.
function gridView(table, state, set, id) {
  const { columns, label } = table;
  const places = gridPlaces(table, state);
  const some = places.slice(0, state.most);
  const number = (count) => grouped(String(count));
  const heading = (column, i) => {
    const [at, way] = state.sort ?? [];
    const sorted = at === i ? (way === 1 ? "ascending" : "descending") : null;
    return h("th", { scope: "col", "aria-sort": sorted, class: column.unit === undefined ? null : "number" },
      h("button", { type: "button", onclick: () => set({ sort: turnedSort(table, state, i) }) }, column.label, h("span", { "aria-hidden": "true", class: "arrow" }, sorted ? (way === 1 ? " ▲" : way === 0 ? " ▼±" : " ▼") : "")));
  };
  const bodyRow = (i) => h("tr", { key: `r${i}` }, table.rows[i].map((value, k) => {
    const dress = { class: columns[k].unit === undefined ? (columns[k].term ? `c-${value}` : columns[k].long ? "long" : null) : "number" };
    return k === (table.heads ?? 0) ? h("th", { ...dress, scope: "row" }, shownCell(value, columns[k])) : h("td", dress, shownCell(value, columns[k]));
  }));
  return [
    table.plain ? null : gridTools(table, state, set, id, some.length, places.length),
    h("div", { key: "table", class: "wide tall", tabindex: 0, role: "region", "aria-label": label },
      h("table", { class: "grid" }, h("caption", { class: "il-hearing" }, `${label}; the column headings sort`),
        h("thead", {}, h("tr", {}, columns.map(heading))),
        h("tbody", {}, some.map(bodyRow)))),
    some.length < places.length ? h("p", { key: "more", class: "more" },
      table.first ? null : h("button", { key: "some", type: "button", onclick: () => set({ most: state.most + 400 }) }, `Show ${Math.min(400, places.length - some.length)} more`),
      h("button", { key: "all", type: "button", onclick: () => set({ most: Infinity }) }, `Show all ${number(places.length)}`))
      : table.first && places.length > table.first ? h("p", { key: "more", class: "more" }, h("button", { key: "less", type: "button", onclick: () => set({ most: table.first }) }, `Show the first ${table.first}`)) : null,
  ];
}

function gridTools(table, state, set, id, visible, matches) {
  const kinds = (table.kinds ??= table.kind === null ? [] : gridKinds(table));
  const all = table.rows.length;
  const total = `${matches === all ? "" : `${grouped(String(matches))} of `}${grouped(String(all))} ${all === 1 ? "row" : "rows"}`;
  return h("div", { key: "tools", class: "tools" },
    h("label", { for: `${id}-words` }, "Filter by text"),
    h("input", { id: `${id}-words`, type: "search", value: state.words, autocomplete: "off", spellcheck: "false", oninput: (event) => set({ words: event.target.value }) }),
    kinds.length > 1 && h("label", { for: `${id}-kind` }, `by ${table.columns[table.kind].label}`),
    kinds.length > 1 && h("select", { id: `${id}-kind`, onchange: (event) => set({ kind: event.target.value }) },
      h("option", { value: "" }, "all"), kinds.map(([kind, count]) => h("option", { key: kind, value: kind }, `${kind} (${grouped(String(count))})`))),
    h("span", { role: "status", class: "il-quiet" }, visible < matches ? `${total}, ${visible} shown` : total));
}

// A table with an element of its own.
function grid(root, table) {
  const id = unique("grid");
  let state = gridStart(table);
  const draw = () => patch(root, gridView(table, state, set, id));
  const set = (change) => {
    state = { ...state, ...change };
    draw();
  };
  draw();
  return { replace: (rows) => { root.replaceChildren(); return grid(root, { ...table, texts: undefined, kinds: undefined, rows, sort: state.sort }); } };
}
