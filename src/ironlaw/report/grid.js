// A table that sorts by any column and filters by words and by kind. Sorting and filtering work on the data; only the first rows
// are in the page until somebody asks for more, so three thousand rows are as quick as thirty.

const FIRST = 100;
const ORDER = new Intl.Collator("en", { numeric: true }); // made once: it is what sorting words costs

// kinds of a cell: a fused kernel has several
const kindsOf = (value) => String(value).split(" + ");

function shownCell(value, column) {
  if (value === null || value === undefined) return "–";
  if (column.unit === undefined) return String(value);
  if (column.unit === "") return grouped(String(value));
  if (column.unit === "%") return `${significant(value)}${THIN}%`;
  if (column.unit === "×") return `${significant(value)}×`;
  return written(value, column.unit);
}

// sort: [column, way]; way 1 rising, -1 falling, 0 by size whatever the sign
function compared(a, b, way) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (way === 0) return Math.abs(b) - Math.abs(a);
  if (typeof a === "number" && typeof b === "number") return way * (a - b);
  return way * ORDER.compare(String(a), String(b));
}

function grid(root, table) {
  const { columns, label } = table;
  const id = unique("grid");
  const state = { words: "", kind: "", sort: table.sort, most: FIRST };
  const counts = new Map();
  if (table.kind !== null) for (const row of table.rows) for (const kind of new Set(kindsOf(row[table.kind]))) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const kinds = [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
  const texts = table.rows.map((row) => row.filter((_, i) => columns[i].unit === undefined).join(" ").toLowerCase());
  const set = (change) => {
    Object.assign(state, change);
    draw();
  };

  function picked() {
    const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
    const places = table.rows.map((_, i) => i).filter((i) => words.every((word) => texts[i].includes(word)) && (!state.kind || kindsOf(table.rows[i][table.kind]).includes(state.kind)));
    if (state.sort) places.sort((a, b) => compared(table.rows[a][state.sort[0]], table.rows[b][state.sort[0]], state.sort[1]) || a - b);
    return places;
  }

  // a figure falls first, words rise first; once more turns it round
  function turn(i) {
    const falls = columns[i].unit !== undefined;
    const [at, way] = state.sort ?? [];
    set({ sort: [i, at === i && way !== 0 ? -way : falls ? -1 : 1] });
  }

  function heading(column, i) {
    const [at, way] = state.sort ?? [];
    const sorted = at === i ? (way === 1 ? "ascending" : "descending") : null;
    return h("th", { scope: "col", "aria-sort": sorted, class: column.unit === undefined ? null : "number" },
      h("button", { type: "button", onclick: () => turn(i) }, column.label, h("span", { "aria-hidden": "true", class: "arrow" }, sorted ? (way === 1 ? " ▲" : way === 0 ? " ▼±" : " ▼") : "")));
  }

  const bodyRow = (i) => h("tr", { key: `r${i}` }, table.rows[i].map((value, k) => {
    const dress = { class: columns[k].unit === undefined ? (columns[k].term ? `c-${value}` : columns[k].long ? "long" : null) : "number" };
    return k === (table.heads ?? 0) ? h("th", { ...dress, scope: "row" }, shownCell(value, columns[k])) : h("td", dress, shownCell(value, columns[k]));
  }));

  function draw() {
    const places = picked();
    const some = places.slice(0, state.most);
    const total = places.length === table.rows.length ? `${grouped(String(places.length))} rows` : `${grouped(String(places.length))} of ${grouped(String(table.rows.length))} rows`;
    patch(root, [
      h("div", { key: "tools", class: "tools" },
        h("label", { for: `${id}-words` }, "Filter by text"),
        h("input", { id: `${id}-words`, type: "search", value: state.words, autocomplete: "off", spellcheck: "false", oninput: (event) => set({ words: event.target.value }) }),
        kinds.length > 1 && h("label", { for: `${id}-kind` }, `by ${columns[table.kind].label}`),
        kinds.length > 1 && h("select", { id: `${id}-kind`, onchange: (event) => set({ kind: event.target.value }) },
          h("option", { value: "" }, "all"), kinds.map(([kind, count]) => h("option", { key: kind, value: kind }, `${kind} (${grouped(String(count))})`))),
        h("span", { role: "status", class: "il-quiet" }, some.length < places.length ? `${total}, ${some.length} shown` : total)),
      h("div", { key: "table", class: "wide tall", tabindex: 0, role: "region", "aria-label": label },
        h("table", { class: "grid" }, h("caption", { class: "il-hearing" }, `${label}; the column headings sort`),
          h("thead", {}, h("tr", {}, columns.map(heading))),
          h("tbody", {}, some.map(bodyRow)))),
      some.length < places.length && h("p", { key: "more", class: "more" },
        h("button", { type: "button", onclick: () => set({ most: state.most + 400 }) }, `Show ${Math.min(400, places.length - some.length)} more`),
        h("button", { type: "button", onclick: () => set({ most: Infinity }) }, `Show all ${grouped(String(places.length))}`)),
    ]);
  }
  draw();
  return { replace: (rows) => { root.replaceChildren(); return grid(root, { ...table, rows, sort: state.sort }); } };
}
