"""What keeps people out of a page, as axe finds it.

Contrast takes axe nine tenths of its time. Two texts in the same colours and type, in elements of the same tags and classes over the same
backgrounds from the page down, look alike: of each look one is judged, once for all pages that a process of the tests opens.
"""

from pathlib import Path

import axe_playwright_python
from playwright.sync_api import Page

AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
GOOD: set[str] = set()  # looks that were judged and are readable
LOOKS = """() => {
  const trails = new Map(), looks = new Map();
  const above = (e) => e.parentElement ?? e.getRootNode().host;
  const own = (e) => {
    const style = getComputedStyle(e);
    const behind = [style.backgroundColor, style.backgroundImage, style.opacity, style.mixBlendMode, style.filter];
    return [e.tagName, e.getAttribute("class"), e.getAttribute("style"), style.position, ...behind].join();
  };
  const trail = (e) => {
    if (!e) return "";
    if (!trails.has(e)) trails.set(e, `${trail(above(e))}/${own(e)}`);
    return trails.get(e);
  };
  const visit = (root) => {
    for (const e of root.querySelectorAll("*")) {
      if (e.shadowRoot) visit(e.shadowRoot);
      if (![...e.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim()) || !e.checkVisibility()) continue;
      const { color, fill, fontSize, fontWeight, textShadow } = getComputedStyle(e);
      const look = [color, fill, fontSize, fontWeight, textShadow].join() + trail(e);
      if (!looks.has(look)) looks.set(look, e);
    }
  };
  visit(document.body);
  window.looks = looks;
  return [...looks.keys()];
}"""
JUDGE = """async (unseen) => {
  const options = { resultTypes: ["violations"], preload: false };
  const shape = await axe.run(document, { ...options, rules: { "color-contrast": { enabled: false } } });
  const contrast = { ...options, runOnly: { type: "rule", values: ["color-contrast"] } };
  const colours = unseen.length ? await axe.run({ include: unseen.map((look) => window.looks.get(look)) }, contrast) : { violations: [] };
  return [...shape.violations, ...colours.violations];
}"""


def serious(page: Page) -> list[str]:
    """What axe finds serious or critical."""
    page.evaluate(AXE.read_text(encoding="utf-8"))  # not as a script of the page, which its own rules would forbid
    unseen = sorted(set(page.evaluate(LOOKS)) - GOOD)
    violations = page.evaluate(JUDGE, unseen)
    found = [f"{v['id']}: {v['nodes'][0]['html'][:120]}" for v in violations if v["impact"] in ("serious", "critical")]
    if not found:
        GOOD.update(unseen)
    return found
