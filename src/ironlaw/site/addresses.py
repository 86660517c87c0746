"""The addresses of the pages relative to where they stand: a site works in any folder of any host."""

from __future__ import annotations

import re

ABSOLUTE = re.compile(
    r'(?P<name>href|src|action|data-traits)(?P<sign>=\\?"|":")/(?P<page>glossary|explore|certificate)?(?P<end>[#?"\\])?(?!/)'
)


def relative(text: str, root: str) -> str:
    """HTML, or JSON with HTML in it, whose addresses begin at `root` instead of the host. `root`: `./`, `../../`."""

    def move(match: re.Match[str]) -> str:
        page, end = match["page"] or "", match["end"] or ""
        folder = f"{page}/" if page and end else page  # /glossary#term is the page glossary/
        return f"{match['name']}{match['sign']}{root}{folder}{end}"

    return ABSOLUTE.sub(move, text)
