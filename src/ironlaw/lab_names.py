"""What a lab's slug says: `lab_01_magnitude` is Lab 01, `lab_v2_02_interconnect` Lab V2-02; and in which order a course takes them."""

from __future__ import annotations

import re

NUMBERED = re.compile(r"lab_(?:v(?P<volume>\d+)_)?(?P<number>\d+)_?")
VOLUMES = {1: "One machine", 2: "Many machines"}
ACTS = {"act1": "Act I", "act2": "Act II"}
# numbers of a volume whose labs hand their designs on in another order than they are counted in; those not listed follow
PATHS = {2: (2, 3, 6, 5, 7, 10, 12, 13, 14, 15, 17)}


def volume(slug: str) -> int:
    """1 where the slug names none; 0 for what is not a numbered lab, such as the review."""
    match = NUMBERED.match(slug)
    return int(match["volume"] or 1) if match else 0


def name(slug: str) -> str:
    """`Lab 01`, `Lab V2-02`; empty for what has no number."""
    match = NUMBERED.match(slug)
    if not match:
        return ""
    return f"Lab {'' if volume(slug) == 1 else f'V{volume(slug)}-'}{match['number']}"


def subject(slug: str) -> str:
    """The slug without volume and number: `magnitude`."""
    return NUMBERED.sub("", slug, count=1)


def act(step: str) -> str:
    """`Act II` of act2, act2_reflection or act2.claims; any other name as it is."""
    return ACTS.get(re.split(r"[._]", step, maxsplit=1)[0], step)


def heading(number: int) -> str:
    """`Volume 2: Many machines`."""
    return f"Volume {number}: {VOLUMES[number]}" if number in VOLUMES else f"Volume {number}"


def order(slug: str) -> tuple[bool, int, int, str]:
    """A key to sort by: volumes one after the other, each along its path; what has no number comes last."""
    match = NUMBERED.match(slug)
    if not match:
        return True, 0, 0, slug
    path, number = PATHS.get(volume(slug), ()), int(match["number"])
    return False, volume(slug), path.index(number) if number in path else len(path) + number, slug
