"""The locks: every package that an installation takes, in one version, with the hashes of its files, for all systems and Pythons at once.

    python scripts/lock.py              write locks/ again after a change of pyproject.toml; versions stay where they still fit
    python scripts/lock.py --upgrade    the newest versions that pyproject.toml allows
    python scripts/lock.py --licences   write docs/dependencies.md: each package with its licence, as .venv has them

uv resolves (https://docs.astral.sh/uv/): the one in PATH, or else the one that pipx fetches. pip installs, without uv.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "locks"
PAGE = ROOT / "docs" / "dependencies.md"
INDEX = "https://pypi.org/simple"
BUILD = ["hatchling", "editables"]  # what builds ironlaw itself, so that nothing unlocked is fetched for it
# with what those need: in every lock, and not imported by the labs
BUILDERS = {*BUILD, "pathspec", "pluggy", "trove-classifiers", "packaging", "tomlkit"}
BESIDE_TORCH = ["sympy", "networkx", "jinja2", "filelock", "fsspec"]  # what PyTorch needs on every system; CUDA's packages come with it
# lock -> its extras; the first holds all of the others, which take their versions from it
EXTRAS = {"test": ["test"], "docs": ["docs"], "labs": []}
PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[\w,]+\])?==([^ ;\\]+)", re.MULTILINE)
LICENCES = {
    "Apache Software License": "Apache-2.0", "MIT License": "MIT", "BSD License": "BSD", "ISC License (ISCL)": "ISC",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0", "Python Software Foundation License": "PSF-2.0",
}  # fmt: skip
SAID_ELSEWHERE = {"ptyprocess": "ISC", "axe-playwright-python": "MIT"}  # by their LICENSE file; the metadata lack it
HEAD = """# What ironlaw depends on

Written by `python scripts/lock.py --licences` from what each package says about itself. *The labs*: installed with `pip install ironlaw`.
*Extras, development*: for PostgreSQL, notebooks, studies, tests, documentation and releases. Versions and hashes are in `locks/`, and
`make audit` looks for known holes in them ([release.md](release.md)).

| package | licence | for |
|---|---|---|
"""


def packages(name: str) -> dict[str, set[str]]:
    """A lock's packages and their versions; another version for another Python makes two."""
    found: dict[str, set[str]] = {}
    for package, version in PIN.findall((LOCKS / f"{name}.txt").read_text(encoding="utf-8")):
        found.setdefault(package, set()).add(version)
    return found


def resolve(name: str, wanted: list[str], options: list[str]) -> None:
    uv = [shutil.which("uv") or ""] if shutil.which("uv") else [sys.executable, "-m", "pipx", "run", "uv"]
    command = [*uv, "pip", "compile", "--quiet", "--no-config", "--universal", "--python-version", "3.11", "--generate-hashes"]
    command += [
        "--no-annotate",
        "--default-index",
        INDEX,
        "--custom-compile-command",
        "python scripts/lock.py",
        "--output-file",
        f"locks/{name}.txt",
    ]
    subprocess.run([*command, *options, "-"], cwd=ROOT, input="\n".join(wanted), text=True, check=True)


def transformers() -> str:
    """As scripts/setup.py names it."""
    match = re.search(r'^TRANSFORMERS = "(.+?)"', (ROOT / "scripts" / "setup.py").read_text(encoding="utf-8"), re.MULTILINE)
    return match[1] if match else ""


def write(upgrade: bool) -> None:
    LOCKS.mkdir(exist_ok=True)
    newest = ["--upgrade"] if upgrade else []
    for name, extras in EXTRAS.items():
        same = [] if name == "test" else ["--constraint", "locks/test.txt"]
        resolve(name, BUILD, ["pyproject.toml", *(part for extra in extras for part in ("--extra", extra)), *same, *newest])
    resolve("audit", ["pip-audit"], newest)
    resolve("torch", [transformers(), *BESIDE_TORCH], ["--constraint", "locks/test.txt", *newest])


def licence(package: str) -> str:
    """What the package says of itself: an SPDX expression where it has one, else the classifier, else the first line of the old field."""
    about = metadata(package)
    classes = [line.rpartition(" :: ")[2] for line in about.get_all("Classifier") or () if line.startswith("License :: OSI Approved :: ")]
    free = re.sub(r"^Apache 2.0( License)?$", "Apache-2.0", str(about.get("License") or "").strip().partition("\n")[0])
    stated = about.get("License-Expression") or " or ".join(LICENCES.get(name, name) for name in classes) or free
    return str(stated) or SAID_ELSEWHERE.get(package, "not stated")


def licences() -> str:
    """The page: a row for each package of a lock that .venv has, and the names of those that only other systems install."""
    labs, rows, elsewhere = packages("labs"), [], []
    for package in sorted({*packages("test"), *packages("torch")}):
        try:
            use = "the labs" if package in labs and package not in BUILDERS else "extras, development"
            rows.append(f"| {package} | {licence(package)} | {use} |")
        except PackageNotFoundError:
            elsewhere.append(package)
    return HEAD + "\n".join(rows) + f"\n\nIn a lock, but not installed where this page was written: {', '.join(elsewhere) or 'none'}.\n"


def main(arguments: list[str]) -> int:
    if arguments == ["--licences"]:
        PAGE.write_text(licences(), encoding="utf-8")
    elif arguments in ([], ["--upgrade"]):
        write(upgrade=bool(arguments))
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
