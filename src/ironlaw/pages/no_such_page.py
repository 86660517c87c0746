"""What stands at an address that has no page: a title that says so, and the ways back."""

from __future__ import annotations

from html import escape

WAYS = (("/", "All labs"), ("/explore", "Explore"), ("/glossary", "Glossary"))


def no_such_page(address: str = "") -> dict[str, str]:
    """The slots of message.html. `address`: what was asked for, where the page is made for one."""
    asked = f"ironlaw has no page at <code>{escape(address)}</code>." if address else "ironlaw has no page at this address."
    ways = " · ".join(f'<a href="{place}">{name}</a>' for place, name in WAYS)
    return {"title": "There is no such page", "body": f"<p>{asked} It may have been mistyped, or it has moved.</p><p>{ways}</p>"}
