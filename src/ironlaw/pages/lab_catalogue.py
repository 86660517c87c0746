"""Which labs there are. The folder is the registry: `labs/<slug>/` with lab.py, words.md and questions.toml.

Reading it imports neither the kit nor the lab, so the gallery is quick and a broken lab can't stop it: what is wrong with
one is in its `error`, and shown on its card.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from ironlaw import lab_names, own_labs

LABS = Path(__file__).parent.parent / "labs"
FILES = ("lab.py", "words.md", "questions.toml")


@dataclass(frozen=True)
class Lab:
    """One card of the gallery. `starts_from`: the labs whose designs its dials begin with. `error` says why it can't be opened."""

    slug: str
    title: str
    folder: Path
    teaches: str = ""
    minutes: int = 40
    starts_from: tuple[str, ...] = ()
    error: str = ""
    own: bool = False  # it is not ironlaw's

    @property
    def ready(self) -> bool:
        return not self.error

    @property
    def name(self) -> str:
        """`Lab 01` for `lab_01_magnitude`; otherwise the start of the slug."""
        return lab_names.name(self.slug) or ("Lab" if self.own else self.slug.partition("_")[0].capitalize())


def catalogue(folder: Path = LABS) -> list[Lab]:
    """All labs in the order of the course, the review after the numbered ones."""
    labs = [read(path) for path in folder.glob("[!_.]*/") if path.is_dir() and path.name != "__pycache__"]
    return sorted(labs, key=lambda lab: lab_names.order(lab.slug))


def every_lab(folder: Path = LABS) -> list[Lab]:
    """The labs of the folder; where that is our own, then those that an instructor has added (`ironlaw.own_labs`)."""
    if folder != LABS:
        return catalogue(folder)
    return [*catalogue(), *(_own(lab) for lab in own_labs.found())]


def _own(lab: own_labs.OwnLab) -> Lab:
    if lab.fault:
        return Lab(lab.slug, plain_title(lab.slug), lab.folder, error=lab.fault, own=True)
    return replace(read(lab.folder), own=True)


def find(name: str, folder: Path = LABS) -> Lab | None:
    """The lab of that slug. One that can't be opened stands behind one of the same name that can."""
    return min((lab for lab in every_lab(folder) if lab.slug == name), key=lambda lab: not lab.ready, default=None)


def resolve(name: str, folder: Path = LABS) -> Lab | None:
    """The lab that a person means: `lab_01_magnitude`, `01`, `1`, `lab-01`, `magnitude`; `lab_v2_02_interconnect`, `v2_02`, `v2-2`."""
    key = name.lower().replace("-", "_").replace(" ", "_").removesuffix("/")
    for lab in every_lab(folder):
        number = lab_names.name(lab.slug).lower().removeprefix("lab ").replace("-", "_")
        short = re.sub(r"(^|_)0+", r"\1", number)
        if key in {lab.slug, number, short, f"lab_{number}", f"lab{number}", lab_names.subject(lab.slug)} - {""}:
            return lab
    return None


def read(folder: Path) -> Lab:
    """What a lab's folder says about itself, or what is wrong with it. Read again only when one of its files has changed: every page that
    opens asks for all labs, and thirty sheets take a tenth of a second to parse."""
    return _read(folder, tuple(_state(folder / name) for name in FILES))


def _state(path: Path) -> tuple[int, ...]:
    """Another one as soon as the file is another, or may be read where it might not."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


@lru_cache(maxsize=256)
def _read(folder: Path, state: tuple[tuple[int, ...], ...]) -> Lab:
    slug = folder.name
    try:
        source = (folder / "lab.py").read_bytes()
        compile(source, f"{slug}/lab.py", "exec", dont_inherit=True)
        title, teaches, minutes, starts_from = about(folder)
    except SyntaxError as error:
        return Lab(slug, plain_title(slug), folder, error=f"lab.py, line {error.lineno}: {error.msg}")
    except FileNotFoundError as error:
        return Lab(slug, plain_title(slug), folder, error=f"{Path(error.filename).name} is missing from labs/{slug}/")
    except (OSError, ValueError) as error:
        return Lab(slug, plain_title(slug), folder, error=f"labs/{slug}/: {error}")
    return Lab(slug, title, folder, teaches, minutes, starts_from)


def about(folder: Path) -> tuple[str, str, int, tuple[str, ...]]:
    """Title and sentence, `## title` and `## sentence` of words.md; `minutes` and `starts_from`, of `[lab]` in questions.toml."""
    words = (folder / "words.md").read_text(encoding="utf-8")
    sheet = tomllib.loads((folder / "questions.toml").read_text(encoding="utf-8"))
    minutes, starts_from = sheet.get("lab", {}).get("minutes"), sheet.get("lab", {}).get("starts_from", [])
    if not isinstance(minutes, int):
        raise ValueError(f"questions.toml has no whole number of minutes under [lab], but {minutes!r}; write minutes = 40")
    if not isinstance(starts_from, list) or not all(isinstance(slug, str) for slug in starts_from):
        raise ValueError(f'questions.toml has starts_from = {starts_from!r} under [lab]; list labs by slug: ["lab_08_ledger"]')
    return section("title", words), section("sentence", words), minutes, tuple(starts_from)


def section(name: str, words: str) -> str:
    """A section's text without Markdown: a card is plain text. The kit reads words.md too, but importing it takes long."""
    match = re.search(rf"^##[ \t]+{name}[ \t]*$(.*?)(?=^##[ \t]|\Z)", words, re.MULTILINE | re.DOTALL)
    text = " ".join(re.sub(r"\[([^\]]*)\]\([^)]*\)|[*`]", r"\1", match[1]).split()) if match else ""
    if not text:
        raise ValueError(f"words.md has no text under `## {name}`; write one")
    return text


def plain_title(slug: str) -> str:
    return lab_names.subject(slug).replace("_", " ").capitalize()
