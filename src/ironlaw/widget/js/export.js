// A picture to take along: the drawing with its styles, typeface, title, legend and margins written out, as SVG or as PNG at twice the size.

const LOOKS = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity", "font-family", "font-size", "font-weight", "font-variant-numeric", "paint-order", "text-anchor", "color"];
const MARGIN = 20; // px round everything
const HEADING = 20; // px of a line of words over or under the drawing
const SWATCH = 14;

const svgNode = (tag, attributes, text) => {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text) node.textContent = text;
  return node;
};

// A copy that needs no style sheet.
function dressed(svg) {
  const copy = svg.cloneNode(true);
  const [from, to] = [svg, copy].map((root) => [root, ...root.querySelectorAll("*")]);
  from.forEach((node, i) => {
    const look = getComputedStyle(node);
    to[i].setAttribute("style", LOOKS.map((name) => `${name}:${look.getPropertyValue(name)}`).join(";"));
    to[i].removeAttribute("class");
  });
  return copy;
}

// Words in lines of a width.
function wrapped(text, width, bold) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (lines.at(-1) && measure(longer, bold) > width) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

// The legend as it stands under the drawing, in rows: its swatches are drawings of their own.
function legendRows(holder, width) {
  const rows = [];
  let at = Infinity;
  for (const item of holder?.querySelectorAll(".il-legend li") ?? []) {
    const [swatch, label] = [item.querySelector("svg"), item.querySelector("span").textContent];
    const room = SWATCH + 6 + measure(label) + 18;
    if (at + room > width) rows.push([]), (at = 0);
    rows.at(-1).push({ swatch, label, x: at });
    at += room;
  }
  return rows;
}

// The typeface that the page itself has, as a rule with the font in it; nothing where it can't be read.
async function embeddedType() {
  for (const sheet of document.styleSheets) {
    try {
      for (const rule of sheet.cssRules) {
        if (!(rule instanceof CSSFontFaceRule) || !rule.cssText.includes("Inter")) continue;
        const [, address] = /url\("?([^")]+)"?\)/.exec(rule.cssText) ?? [];
        const blob = await (await fetch(new URL(address, sheet.href ?? document.baseURI))).blob();
        const data = await new Promise((done) => Object.assign(new FileReader(), { onload: (event) => done(event.target.result) }).readAsDataURL(blob));
        return rule.cssText.replace(/url\([^)]*\)/, `url("${data}")`);
      }
    } catch {
      continue; // a sheet of another origin
    }
  }
  return "";
}

async function standalone(svg, figure) {
  const [wide, tall] = [svg.width.baseVal.value, svg.height.baseVal.value];
  const look = getComputedStyle(svg);
  const [page, ink, quiet] = ["--il-page", "--il-ink", "--il-quiet"].map((name) => look.getPropertyValue(name).trim());
  const title = wrapped([figure.title, figure.note].filter(Boolean).join(": "), wide, true);
  const legend = legendRows(svg.closest("figure"), wide);
  const foot = figure.foot ? wrapped(figure.foot, wide, false) : [];
  const over = title.length * HEADING + 8;
  const under = (legend.length + foot.length) * HEADING + (legend.length + foot.length ? 10 : 0);
  const [width, height] = [wide + 2 * MARGIN, over + tall + under + 2 * MARGIN];
  const copy = dressed(svg);
  for (const [key, value] of [["x", MARGIN], ["y", MARGIN + over], ["overflow", "visible"]]) copy.setAttribute(key, value);
  const out = svgNode("svg", { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}`, role: "img" });
  const font = await embeddedType();
  const words = (text, x, y, colour, weight = 400) => svgNode("text", { x, y, style: `font:${weight} ${SIZE}px ${FONT};fill:${colour};font-variant-numeric:tabular-nums` }, text);
  out.append(svgNode("title", {}, figure.title), svgNode("desc", {}, figure.text));
  if (font) out.append(svgNode("style", {}, font));
  out.append(svgNode("rect", { x: 0, y: 0, width, height, fill: page }), ...title.map((text, i) => words(text, MARGIN, MARGIN + 14 + HEADING * i, ink, 650)), copy);
  const from = MARGIN + over + tall + 10;
  legend.forEach((row, i) => row.forEach(({ swatch, label, x }) => {
    const sign = dressed(swatch);
    for (const [key, value] of [["x", MARGIN + x], ["y", from + HEADING * i]]) sign.setAttribute(key, value);
    out.append(sign, words(label, MARGIN + x + SWATCH + 6, from + HEADING * i + 11, quiet));
  }));
  out.append(...foot.map((text, i) => words(text, MARGIN, from + HEADING * (legend.length + i) + 11, quiet)));
  return { text: new XMLSerializer().serializeToString(out), width, height };
}

function handOver(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

async function saveDrawing(svg, figure, kind) {
  const { text, width, height } = await standalone(svg, figure);
  const blob = new Blob([text], { type: "image/svg+xml" });
  if (kind === "svg") return handOver(blob, `${figure.id}.svg`);
  const image = new Image();
  image.onload = () => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 2 * width, height: 2 * height });
    canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
    canvas.toBlob((png) => png && handOver(png, `${figure.id}.png`), "image/png");
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}
