"""Every mark in every colour stands out from its ground, three to one at the least, in light and in dark: in its fill or in its outline."""

from playwright.sync_api import Browser

from ironlaw.widget.assets import style
from ironlaw.widget.colours import COLOURS

# kind of a mark, and what may be said of it besides; an area without "il-solid" is ground, and a grid is no mark
KINDS = {
    "il-bar": ("", "il-dim", "il-emphasis", "il-outline"),
    "il-line": ("", "il-dim", "il-emphasis"),
    "il-point": ("", "il-dim", "il-emphasis", "il-hollow"),
    "il-rule": ("", "il-prediction", "il-truth"),
    "il-area": ("il-solid",),
    "il-knob-mark": ("",),
    "il-solid-bar": ("",), "il-lit": ("",), "il-token": ("",),  # of a film
}  # fmt: skip
CONTRASTS = """
(classes) => {
  const brush = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const shade = (colour, under) => {
    brush.fillStyle = `rgb(${under.join()})`;
    brush.fillRect(0, 0, 1, 1);
    brush.fillStyle = colour;
    brush.fillRect(0, 0, 1, 1);
    return [...brush.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const ground = shade(getComputedStyle(document.body).backgroundColor, [255, 255, 255]);
  const through = (top, alpha) => top.map((v, i) => Math.round(alpha * v + (1 - alpha) * ground[i]));
  const svg = document.querySelector("svg");
  return classes.map((names) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", "path");
    node.setAttribute("class", names);
    svg.append(node);
    const look = getComputedStyle(node);
    const seen = ["fill", "stroke"].filter((part) => look[part] !== "none").map((part) => {
      const alpha = Number(look.opacity) * (part === "fill" ? Number(look.fillOpacity) : 1);
      return contrast(through(shade(look[part], ground), alpha), ground);
    });
    node.remove();
    return [names, Math.max(...seen)];
  });
}
"""


def test_every_mark_stands_out_from_its_ground(chromium: Browser) -> None:
    classes = [f"{kind} {more} c-{colour}" for kind, states in KINDS.items() for more in states for colour in COLOURS]
    with chromium.new_context() as context:
        page = context.new_page()
        ground = f"<style>{style()} body {{ background: var(--il-page); }}</style>"
        page.set_content(f"{ground}<div class='il-piece'><svg class='il-drawing il-scene'></svg></div>")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            measured = page.evaluate(CONTRASTS, classes)
            assert len(measured) == len(classes) > 200
            assert [f"{scheme}: {names} {ratio:.2f}" for names, ratio in measured if ratio < 3.0] == []
