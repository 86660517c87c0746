// A picture to take along: the drawing with its styles written out, as SVG or as PNG at twice the size.

const LOOKS = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity", "font-family", "font-size", "font-weight", "paint-order", "text-anchor", "color"];
const HEAD = 30; // px over the drawing for its title

function standalone(svg, figure) {
  const copy = svg.cloneNode(true);
  const [from, to] = [svg, copy].map((root) => [root, ...root.querySelectorAll("*")]);
  from.forEach((node, i) => {
    const look = getComputedStyle(node);
    to[i].setAttribute("style", LOOKS.map((name) => `${name}:${look.getPropertyValue(name)}`).join(";"));
    to[i].removeAttribute("class");
  });
  const [width, height] = [svg.width.baseVal.value, svg.height.baseVal.value + HEAD];
  const look = getComputedStyle(svg);
  const [page, ink] = ["--il-page", "--il-ink"].map((name) => look.getPropertyValue(name).trim());
  const svgNode = (tag, attributes, text) => {
    const node = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text) node.textContent = text;
    return node;
  };
  copy.setAttribute("xmlns", SVG);
  for (const [key, value] of [["width", width], ["height", height], ["viewBox", `0 ${-HEAD} ${width} ${height}`]]) copy.setAttribute(key, value);
  copy.prepend(
    svgNode("title", {}, figure.title), svgNode("desc", {}, figure.text), svgNode("rect", { x: 0, y: -HEAD, width, height, fill: page }),
    svgNode("text", { x: 0, y: 16 - HEAD, style: `font:600 14px ${FONT};fill:${ink}` }, [figure.title, figure.note].filter(Boolean).join(": ")));
  return { text: new XMLSerializer().serializeToString(copy), width, height };
}

function handOver(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function saveDrawing(svg, figure, kind) {
  const { text, width, height } = standalone(svg, figure);
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
