"""The Markdown sources: those of the repository, or those that a wheel carries; and how they are laid out for MkDocs."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Collection
from pathlib import Path

from ironlaw.errors import UnknownName
from ironlaw.manual import accuracy_page, reference
from ironlaw.manual.contents import HOME, PROJECT
from ironlaw.manual.page_links import turn

HERE = Path(__file__).resolve().parent
CARRIED = HERE / "carried"  # where pyproject.toml puts them in a wheel
README = "README.md"
LIGHT = re.compile(r"!\[([^\]]*)\]\((images/[\w-]+)-light(\.\w+)\)")
PICTURES = {".png", ".webp", ".svg"}


def root() -> Path:
    """The folder that holds README.md and docs/."""
    for folder in (HERE.parents[2], CARRIED):
        if (folder / README).is_file() and (folder / "docs" / "cli.md").is_file():
            return folder
    raise UnknownName(
        "the sources of the documentation are neither in a repository around ironlaw nor in this installation; run it in a clone"
    )


def pages(folder: Path) -> dict[Path, str]:
    """source -> its name among the pages."""
    files = {folder / README: HOME}
    files |= {folder / name: name for name in PROJECT if (folder / name).is_file()}
    return files | {path: path.name for path in sorted((folder / "docs").glob("*.md"))}


def both_schemes(text: str, pictures: Collection[str]) -> str:
    """A picture of a light page gives way to its dark twin where the page is dark and there is one."""

    def twins(match: re.Match[str]) -> str:
        dark = f"{match[2]}-dark{match[3]}"
        return f"![{match[1]}]({match[2]}-light{match[3]}#only-light)![{match[1]}]({dark}#only-dark)" if dark in pictures else match[0]

    return LIGHT.sub(twins, text)


def lay_out(folder: Path, out: Path) -> list[str]:
    """Write all Markdown and pictures into `out`, as MkDocs wants them; the names of the pages."""
    names = pages(folder)
    pictures = {path: f"images/{path.name}" for path in sorted((folder / "docs" / "images").iterdir()) if path.suffix in PICTURES}
    history = folder / "docs" / "accuracy.json"
    places = {**names, **pictures, history: "accuracy.md"}
    text = {name: both_schemes(turn(path.read_text(encoding="utf-8"), path, places.get), pictures.values()) for path, name in names.items()}
    text |= reference.pages()
    text["accuracy.md"] += accuracy_page.tables(json.loads(history.read_text(encoding="utf-8")))
    for name, content in text.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(content, encoding="utf-8")
    (out / "images").mkdir(exist_ok=True)
    for path, name in pictures.items():
        if any(name in content for content in text.values()):
            shutil.copyfile(path, out / name)
    return list(text)
