"""A release's bookkeeping: one version in the package, the changelog, the citation and the tag. docs/release.md is the recipe.

python scripts/release.py prepare 0.2.0    set the version, and head the changelog's unreleased changes with it and today's date
python scripts/release.py check            exit 1 and say what disagrees: version, changelog, citation, tags
python scripts/release.py check dist       the same, and that dist/ holds a wheel and an sdist of this version
"""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
RELEASED = re.compile(r"(\d+\.\d+\.\d+) - (\d{4}-\d{2}-\d{2})")
UNRELEASED = "Unreleased"


def version_file(root: Path) -> Path:
    return root / "src" / "ironlaw" / "version.py"


def version(root: Path) -> str:
    match = VERSION.search(version_file(root).read_text(encoding="utf-8"))
    return match[1] if match else ""


def number(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def tags(root: Path) -> list[str]:
    """Versions that were tagged; none where there is no git, as in an unpacked sdist."""
    try:
        done = subprocess.run(["git", "tag", "--list", "v*"], cwd=root, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return []
    return [tag[1:] for tag in done.stdout.split() if re.fullmatch(r"v\d+\.\d+\.\d+", tag)]


def problems(root: Path, tagged: list[str]) -> list[str]:
    """What disagrees, a line each."""
    now, found = version(root), []
    if not re.fullmatch(r"\d+\.\d+\.\d+", now):
        return [f"__version__ is {now!r}; write three numbers, such as 0.2.0"]
    headings = HEADING.findall((root / "CHANGELOG.md").read_text(encoding="utf-8"))
    released = [match for heading in headings if heading != UNRELEASED and (match := RELEASED.fullmatch(heading))]
    for heading in headings:
        if heading != UNRELEASED and not RELEASED.fullmatch(heading):
            found.append(f"CHANGELOG.md: '## {heading}' is neither '{UNRELEASED}' nor 'X.Y.Z - YYYY-MM-DD'")
    if UNRELEASED in headings[1:]:
        found.append(f"CHANGELOG.md: '{UNRELEASED}' is not the first heading")
    versions = [match[1] for match in released]
    if versions != sorted(versions, key=number, reverse=True) or len(set(versions)) != len(versions):
        found.append(f"CHANGELOG.md: versions are not in descending order: {', '.join(versions)}")
    if headings and headings[0] != UNRELEASED and versions and versions[0] != now:
        found.append(f"CHANGELOG.md starts with {versions[0]}, and __version__ is {now}")
    if versions and number(versions[0]) > number(now):
        found.append(f"CHANGELOG.md has {versions[0]} already, and __version__ is still {now}")
    found += [f"tag v{tag} has no heading in CHANGELOG.md" for tag in tagged if tag not in versions]
    if now in tagged and headings[0] == UNRELEASED and _has_entries(root):
        found.append(f"v{now} is tagged, and there are unreleased changes: run prepare with the next version before the next tag")
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    if f"\nversion: {now}\n" not in citation:
        found.append(f"CITATION.cff does not name version {now}")
    dates = {match[1]: match[2] for match in released}
    if now in dates and f"\ndate-released: {dates[now]}\n" not in citation:
        found.append(f"CITATION.cff does not name the date of {now}, {dates[now]}")
    return found


def _has_entries(root: Path) -> bool:
    first = (root / "CHANGELOG.md").read_text(encoding="utf-8").partition(f"## {UNRELEASED}\n")[2].partition("\n## ")[0]
    return bool(first.strip())


def prepare(root: Path, new: str, today: str) -> None:
    """Write the version and the date where they are kept."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", new):
        sys.exit(f"{new!r} is not a version; write three numbers, such as 0.2.0")
    if not _has_entries(root):
        sys.exit(f"CHANGELOG.md has nothing under '## {UNRELEASED}': there is nothing to release")
    code = version_file(root)
    code.write_text(VERSION.sub(f'__version__ = "{new}"', code.read_text(encoding="utf-8")), encoding="utf-8")
    log = root / "CHANGELOG.md"
    log.write_text(log.read_text(encoding="utf-8").replace(f"## {UNRELEASED}\n", f"## {new} - {today}\n", 1), encoding="utf-8")
    citation = root / "CITATION.cff"
    text = re.sub(r"^date-released: .*\n", "", citation.read_text(encoding="utf-8"), flags=re.MULTILINE)
    text = re.sub(r"^version: .*$", f"version: {new}\ndate-released: {today}", text, flags=re.MULTILINE)
    citation.write_text(text, encoding="utf-8")


def missing(dist: Path, now: str) -> list[str]:
    """Exactly one wheel and one sdist, both of this version."""
    wanted = {f"ironlaw-{now}-py3-none-any.whl", f"ironlaw-{now}.tar.gz"}
    there = {path.name for path in dist.glob("ironlaw-*")}
    return [f"{dist}: {name} is missing" for name in sorted(wanted - there)] + [
        f"{dist}: {name} is of another version; remove it" for name in sorted(there - wanted)
    ]


def main(arguments: list[str]) -> int:
    if len(arguments) == 2 and arguments[0] == "prepare":
        prepare(ROOT, arguments[1], date.today().isoformat())
    elif not arguments or arguments[0] != "check" or len(arguments) > 2:
        print(__doc__, file=sys.stderr)
        return 2
    found = problems(ROOT, tags(ROOT))
    if arguments[0] == "check" and len(arguments) == 2:
        found += missing(Path(arguments[1]), version(ROOT))
    for line in found:
        print(line, file=sys.stderr)
    if not found:
        print(f"ironlaw {version(ROOT)}: version, changelog, citation and tags agree")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
