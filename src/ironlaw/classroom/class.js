// The long list: sorted by a press on its head, filtered by a name. Without script it is a table like any other.
"use strict";
for (const root of document.querySelectorAll("[data-sorted]")) {
  const body = root.querySelector("tbody");
  const rows = [...body.rows];
  const heads = [...root.querySelectorAll("thead th")];
  const key = (row, column) => row.cells[column].dataset.key ?? row.cells[column].textContent;
  const compare = (a, b) => (isNaN(a) || isNaN(b) ? a.localeCompare(b) : a - b);
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.ariaSort !== "ascending";
      for (const other of heads) other.ariaSort = "none";
      head.ariaSort = up ? "ascending" : "descending";
      rows.sort((a, b) => (up ? 1 : -1) * compare(key(a, column), key(b, column)));
      body.append(...rows);
    });
  });
  heads[0].ariaSort = "ascending";
  if (rows.length < 12) continue;
  const tools = document.createElement("p");
  tools.className = "tools";
  const [label, input, count] = ["label", "input", "span"].map((name) => document.createElement(name));
  input.id = "filter";
  input.type = "search";
  label.htmlFor = input.id;
  label.textContent = "Learner";
  count.setAttribute("role", "status");
  const filter = () => {
    const words = input.value.trim().toLowerCase();
    for (const row of rows) row.hidden = !row.cells[0].textContent.toLowerCase().includes(words);
    count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length}`;
  };
  input.addEventListener("input", filter);
  tools.append(label, input, count);
  root.prepend(tools);
  filter();
}
