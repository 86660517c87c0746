// The same figures as a table; its rows are in the page only while it is open.

function tableView(figure, id, ctx) {
  if (!figure.table) return null;
  const { local } = ctx.ui;
  const open = Boolean(local[`table:${id}`]);
  const toggled = (event) => {
    if (local[`table:${id}`] === event.target.open) return;
    local[`table:${id}`] = event.target.open;
    ctx.redraw();
  };
  const { columns, rows } = figure.table;
  return h("details", { key: "table", class: "il-alternative", ontoggle: toggled }, h("summary", {}, "Show as table"),
    open && h("div", { class: "il-scroll", tabindex: 0, role: "region", "aria-label": `${figure.title} as a table` },
      h("table", {}, h("caption", {}, figure.text),
        h("thead", {}, h("tr", {}, columns.map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, k) => h(k ? "td" : "th", k ? {} : { scope: "row" }, cell === null ? "" : String(cell)))))))));
}
