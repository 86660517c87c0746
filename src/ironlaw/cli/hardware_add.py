"""`ironlaw hardware add FILE [NAME]`: a machine that somebody else measured, checked and stored among the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ironlaw.cli.show import draw
from ironlaw.errors import BadValue
from ironlaw.registry import shared_machines


def run(words: list[str], as_json: bool) -> int:
    if not words or len(words) > 2:
        raise BadValue("`ironlaw hardware add` takes the file and, if you like, a name: ironlaw hardware add my_gpu.json my_gpu")
    shared = shared_machines.read(Path(words[0]).expanduser())
    slug = shared_machines.slug_for(shared, "".join(words[1:]))
    place, curves = shared_machines.add(shared, slug)
    added: dict[str, Any] = {"slug": slug, "name": shared.name, "rows": len(shared.rows), "curves": list(curves), "stored": str(place)}
    if as_json:
        draw.emit(added, "ironlaw-hardware-add/1")
        return 0
    draw.heading(shared.name, slug)
    fitted = f"{len(curves)} fitted to {len(shared.rows)} rows" if curves else "too few rows to fit any: its times are estimates or bounds"
    draw.pairs([("curves", fitted), ("stored", str(place))])
    draw.say(f"Next: ironlaw predict resnet50 --on {slug}", draw.STRONG)
    return 0
