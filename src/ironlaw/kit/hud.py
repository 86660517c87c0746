"""The HUD: a slim bar at the foot of the page. Lab, context, both acts, the main readouts, and whether the ledger has saved them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from html import escape, unescape

from ironlaw.kit.prose import inline
from ironlaw.kit.save import Receipt
from ironlaw.ledger.events import local_time

MEETS, FAILS = "meets the goal", "does not meet the goal yet"

MARKS = {"good": "✓", "warn": "△", "fail": "✗"}
OPEN = "open"  # no answer yet
LOCKED = "locked"  # it opens with the act before
HEARD = re.compile(r'<span class="il-hearing">[^<]*</span>')  # said to the ear, beside what the eye sees
TAG = re.compile(r"<[^>]*>")
SAID = "you said "
PREDICTED = "predicted"
LONGEST = 24  # characters of a prediction that the bar has room for
BRIEF = 9  # on a phone; a longer one is there by its mark alone
Item = tuple[str, str, str]  # label, value, tone ("" | good | warn | fail)


def plain_text(label: str) -> str:
    """An option's label without its markup."""
    return unescape(TAG.sub("", HEARD.sub("", inline(label))))


def prediction(label: str, said: str | None, is_open: bool = True) -> Item:
    """`Act I  you said 25%`: what was predicted first, not whether it was right; that is the reveal's. `said`: the option's label."""
    if said is None:
        return label, OPEN if is_open else LOCKED, ""
    text = plain_text(said)
    short = next((part for part in (text.partition(":")[0], text.partition(",")[0]) if len(part) <= LONGEST), "")
    if not short:
        return label, PREDICTED, ""
    short = short.rstrip(".")
    return label, f"{SAID}“{short}”" if short[0].isalpha() and " " in short else f"{SAID}{short}", ""


def design(meets: bool) -> Item:
    return "Your design", MEETS if meets else FAILS, "good" if meets else "warn"


def clock(time: str, now: datetime | None = None) -> str:
    """A time of the ledger on the learner's own clock, and of another day its date. `now`: the present, in the learner's zone."""
    now = now or datetime.now().astimezone()
    local = local_time(time, now.tzinfo)
    return f"{local:%H:%M}" if local.date() == now.date() else f"{local:%Y-%m-%d}"


def ledger(receipt: Receipt | None) -> Item:
    if receipt is None or (not receipt.saved and not receipt.error):
        return "Ledger", "not saved yet", ""
    if receipt.error:
        return "Ledger", f"not saved: {receipt.error}", "fail"
    if receipt.changed:
        return "Ledger", f"changed since {clock(receipt.time)}", "warn"
    return "Ledger", f"saved {clock(receipt.time)}", "good"


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
    name = tone or ("open" if value in (OPEN, LOCKED) else "")
    classes = f' class="il-{name}"' if name else ""
    # where there is no room the mark stands alone, and a prediction without these words
    said = f'<span class="il-said">{SAID}</span>' if value.startswith(SAID) else ""
    text = escape(value.removeprefix(SAID))
    if (said or value == PREDICTED) and len(value.removeprefix(SAID)) >= BRIEF:
        text = f'<span class="il-long">{text}</span><span class="il-brief" aria-hidden="true">◆</span>'
    words = f'<span class="il-word">{escape(value)}</span>' if tone else f"{said}{text}"
    return f"<div{classes}><dt>{escape(label)}</dt> <dd>{mark}{words}</dd></div>"
