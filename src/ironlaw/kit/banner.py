"""The failure banner, and its friendly twin: which limit, by how much, what to change; or how much room is left."""

from __future__ import annotations

from html import escape
from typing import Any

TONES = {"fail": "Does not work", "warn": "Careful", "good": "Works"}


def banner(tone: str, title: str, text: str) -> dict[str, Any]:
    """For an instrument's view; `text` is HTML."""
    return {"tone": tone, "title": title, "text": text}


def notice(tone: str, title: str, text: str) -> str:
    """The same outside an instrument. The tone is also given in words, not only by colour."""
    role = "alert" if tone == "fail" else "status"
    return (
        f'<div class="il-banner il-{tone}" role="{role}"><strong><span class="il-hidden">{TONES[tone]}: </span>{escape(title)}</strong>'
        f"<div>{text}</div></div>"
    )


def ledger_notice(ledger: Any) -> str:
    """What the learner should know about the ledger's state; empty if all is well."""
    text = getattr(ledger, "notice", "")
    return notice("warn", "Something happened to your ledger", f"<p>{escape(text)}</p>") if text else ""
