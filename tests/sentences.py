"""What reading aloud stumbles over, counted: words, colons and figures by sentence of each lab's words.md.

`python tests/sentences.py` prints the table; `python tests/sentences.py FOLDER` counts another checkout's.
"""

import re
import sys
from pathlib import Path
from statistics import median
from typing import NamedTuple

SHORT = re.compile(r"(?:title|sender|context|teaches|instrument)$")  # sections that are labels
FORMULA, LINK, SLOT = re.compile(r"\$\$.*?\$\$", re.DOTALL), re.compile(r"\]\([^)]*\)"), re.compile(r"\{\{\s*(\w+).*?\}\}")
PARAGRAPH, END = re.compile(r"\n\s*\n|\n- "), re.compile(r"(?<=[.?!])\s+(?=[A-Z\[*{`$“])")
NAMES = (
    "name|names|label|device|model|machine|context|format|formats|source|memory|case|term|which|unit|why|workload|link|op|phase|labs"
    "|verdict"
)
NAME = re.compile(rf"(?:^|_)(?:{NAMES})(?:_|$)")  # slots that hold a word, not a figure


class Sentence(NamedTuple):
    section: str
    text: str

    @property
    def words(self) -> int:
        return len(SLOT.sub("x", self.text).split())

    @property
    def figures(self) -> int:
        return sum(not NAME.search(slot) for slot in SLOT.findall(self.text))

    @property
    def colon(self) -> bool:
        return ":" in SLOT.sub("", self.text)


def sentences(words: str) -> list[Sentence]:
    """Those of a words.md, without tables, formulas of their own line, and labels."""
    return [
        Sentence(section, text)
        for section, _, body in (part.partition("\n") for part in re.split(r"^## ", words, flags=re.MULTILINE)[1:])
        if not SHORT.search(section)
        for text in split(body)
    ]


def split(body: str) -> list[str]:
    prose = "\n".join(line for line in body.splitlines() if not line.lstrip().startswith("|"))
    plain = LINK.sub("]", FORMULA.sub("", prose))
    return [text for block in PARAGRAPH.split(plain) for text in END.split(" ".join(block.split()).removeprefix("- ")) if text]


def table(labs: Path) -> list[str]:
    rows = [f"{'lab':26} sentences  median words  with a colon  figures a sentence  two or more"]
    for path in sorted(labs.glob("lab_*/words.md")):
        found = sentences(path.read_text(encoding="utf-8"))
        counts, colons = [one.figures for one in found], sum(one.colon for one in found)
        rows.append(
            f"{path.parent.name:26} {len(found):9}  {median(one.words for one in found):12.1f}  {colons / len(found):12.1%}"
            f"  {sum(counts) / len(found):18.2f}  {sum(count > 1 for count in counts) / len(found):11.1%}"
        )
    return rows


if __name__ == "__main__":
    print("\n".join(table(Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "src/ironlaw/labs")))
