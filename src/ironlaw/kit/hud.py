"""The HUD: a slim bar at the foot of the page. Lab, context, both acts, the main readouts, and whether the ledger has saved them."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from ironlaw.kit.save import Receipt

MARKS = {"good": "✓", "warn": "!", "fail": "✗"}
OPEN = "open"  # no answer yet
Item = tuple[str, str, str]  # label, value, tone ("" | good | warn | fail)


def prediction(label: str, correct: bool | None, attempt: int = 1) -> Item:
    """`Act I: right`; a wrong one is not a failure, so it is amber."""
    if correct is None:
        return label, OPEN, ""
    nth = f" (attempt {attempt})" if attempt > 1 else ""
    return label, ("right" if correct else "off") + nth, "good" if correct else "warn"


def ledger(receipt: Receipt | None) -> Item:
    if receipt is None or (not receipt.saved and not receipt.error):
        return "Ledger", "saves at the end of both acts", ""
    if receipt.error:
        return "Ledger", f"not saved: {receipt.error}", "fail"
    return "Ledger", f"saved {receipt.time[11:16]} UTC", "good"


def hud(items: Iterable[Item], receipt: Receipt | None = None, ledger_item: Item | None = None) -> str:
    """`ledger_item` replaces the receipt on pages that save without one."""
    cells = "".join(_cell(*item) for item in items)
    label, value, tone = ledger_item or ledger(receipt)
    where = f' title="{escape(receipt.where)}"' if receipt and receipt.where else ""
    classes = ' class="il-receipt-line"' if tone == "good" else ""
    ledger_html = f"<dl{classes}{where}>{_cell(label, value, tone)}</dl>"
    return f'<footer class="il-hud" role="contentinfo" aria-label="Where you are" aria-live="polite"><dl>{cells}</dl>{ledger_html}</footer>'


def _cell(label: str, value: str, tone: str) -> str:
    mark = f'<span aria-hidden="true">{MARKS[tone]} </span>' if tone else ""
    name = tone or ("open" if value == OPEN else "")
    classes = f' class="il-{name}"' if name else ""
    return f"<div{classes}><dt>{escape(label)}</dt> <dd>{mark}{escape(value)}</dd></div>"
