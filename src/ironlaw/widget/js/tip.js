// The box beside what is pointed at or focused: exact values and where they come from.

const LONG = 4; // more figures than this stand side by side where they fit, so that the box leaves the picture in sight

// rows: [[label, value], …, "source"]
function showTip(ui, anchor, title, rows) {
  const tip = ui.tip;
  if (!tip) return;
  ui.tipped = anchor;
  const pairs = rows.filter(Array.isArray);
  patch(tip, [
    title && h("b", {}, title),
    h("dl", { class: pairs.length > LONG ? "il-pairs" : null }, pairs.map(([label, value]) => h("div", {}, h("dt", {}, label), h("dd", {}, value)))),
    rows.filter((row) => !Array.isArray(row) && row).map((source) => h("p", { class: "il-source" }, source)),
  ]);
  tip.hidden = false;
  const [home, box, own] = [tip.parentNode.getBoundingClientRect(), anchor.getBoundingClientRect(), tip.getBoundingClientRect()];
  const middle = box.left + box.width / 2 - home.left - own.width / 2;
  const left = Math.max(4 - Math.min(home.left, 0), Math.min(middle, home.width - own.width - 4));
  const over = box.top - own.height - 10;
  const top = over > 8 ? over - home.top : box.bottom - home.top + 10;
  tip.style.transform = `translate(${Math.round(Math.max(0, left))}px, ${Math.round(top)}px)`;
}

function hideTip(ui) {
  if (ui.tip) ui.tip.hidden = true;
}
