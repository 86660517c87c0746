"""Key takeaways, and where they lead."""

from __future__ import annotations

from ironlaw.kit.prose import html


def takeaways(points: str, connections: str) -> str:
    """Both are Markdown lists."""
    return (
        f'<section class="il-takeaways" id="takeaways"><h2>Key takeaways</h2>{html(points)}</section>'
        f'<section class="il-connections"><h2>Connections</h2>{html(connections)}</section>'
    )
