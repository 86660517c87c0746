"""The locks: they hold all that is declared, in one version each, above known holes; and what an audit of them says."""

import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import audit  # noqa: E402
import lock  # noqa: E402

NAMES = ("labs", "docs", "test", "torch", "audit")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# the first version without the hole, and the hole
HOLES = {
    "starlette": ("0.49.1", "CVE-2025-62727"),
    "h11": ("0.16", "CVE-2025-43859"),
    "python-multipart": ("0.0.27", "CVE-2026-42561"),
    "jinja2": ("3.1.6", "CVE-2025-27516"),
    "requests": ("2.32.4", "CVE-2024-47081"),
    "urllib3": ("2.6.0", "CVE-2025-66471"),
    "tornado": ("6.5.3", "CVE-2025-67724"),
    "mako": ("1.2.2", "CVE-2022-40023"),
    "idna": ("3.7", "CVE-2024-3651"),
    "pip": ("25.3", "CVE-2025-8869"),
}


def declared(*extras: str) -> list[Requirement]:
    """What pyproject.toml names for these extras; an extra may name others of ironlaw's."""
    found = [Requirement(text) for text in PROJECT["dependencies"]]
    for extra in extras:
        for text in PROJECT["optional-dependencies"][extra]:
            requirement = Requirement(text)
            found += declared(*requirement.extras) if requirement.name == "ironlaw" else [requirement]
    return found


@pytest.mark.parametrize("name, extras", [("labs", ()), ("docs", ("docs",)), ("test", ("test",))])
def test_a_lock_holds_all_that_is_declared(name: str, extras: tuple[str, ...]):
    locked = lock.packages(name)
    for requirement in declared(*extras):
        versions = locked.get(canonicalize_name(requirement.name), set())
        assert versions and all(requirement.specifier.contains(version) for version in versions), requirement


@pytest.mark.parametrize("name", NAMES)
def test_every_package_has_hashes_and_one_version_for_a_machine(name: str):
    text = (ROOT / "locks" / f"{name}.txt").read_text(encoding="utf-8")
    blocks = re.split(r"^(?=[\w.-]+(?:\[[\w,]+\])?==)", text, flags=re.MULTILINE)[1:]
    assert len(blocks) == sum(len(versions) for versions in lock.packages(name).values()) > 10
    assert [block for block in blocks if not re.search(r"--hash=sha256:[0-9a-f]{64}", block)] == []
    for package, versions in lock.packages(name).items():
        with_marker = [block for block in blocks if re.match(rf"{re.escape(package)}==[^\n]*;", block)]
        assert len(versions) == 1 or len(with_marker) == len(versions), package


def test_the_locks_agree():
    test = lock.packages("test")
    for name in ("labs", "docs", "torch"):
        shared = {package: versions for package, versions in lock.packages(name).items() if package in test}
        assert {package: versions for package, versions in shared.items() if not versions <= test[package]} == {}, name


def test_nothing_locked_or_allowed_has_one_of_these_holes():
    for name in NAMES:
        for package, versions in lock.packages(name).items():
            fixed, hole = HOLES.get(package, ("0", ""))
            assert all(Version(version) >= Version(fixed) for version in versions), (name, package, hole)
    for requirement in declared("test"):
        lowest = [Version(part.version) for part in requirement.specifier if part.operator in (">=", "==")]
        if requirement.name in HOLES:
            assert lowest >= [Version(HOLES[requirement.name][0])], requirement


def test_set_up_installs_from_locks_that_exist():
    script = (ROOT / "scripts" / "setup.py").read_text(encoding="utf-8")
    table = dict(re.findall(r'"(\w*)": "(\w+)"', re.search(r"^LOCKS = \{(.*)\}$", script, re.MULTILINE)[1]))
    assert {*table.values(), "torch", "audit"} == set(NAMES) == {path.stem for path in (ROOT / "locks").glob("*.txt")}
    assert table[""] == "labs" and set(table) - {""} <= set(PROJECT["optional-dependencies"])
    assert all({"hatchling", "editables"} <= set(lock.packages(name)) for name in table.values())  # or building would fetch something else
    workflows = [path.read_text(encoding="utf-8") for path in (ROOT / ".github" / "workflows").glob("*.yml")]
    assert all(text.count("locks/*.txt") == text.count("cache: pip") for text in workflows)


def test_every_package_is_listed_with_its_licence():
    page = lock.PAGE.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| ([\w.-]+) \| (.+?) \|", page, re.MULTILINE))
    elsewhere = set(re.findall(r"[\w.-]+", page.rpartition("written: ")[2].rstrip(".\n")))
    assert {*lock.packages("test"), *lock.packages("torch")} == (set(rows) - {"package"}) | elsewhere
    assert [name for name, licence in rows.items() if "not stated" in licence] == []
    assert [name for name in lock.packages("labs") if re.search(r"(?<!L)GPL|AGPL|not stated", rows.get(name, ""))] == []
    for name in sorted(set(rows) & set(lock.packages("labs"))):
        try:
            assert lock.licence(name) == rows[name]
        except PackageNotFoundError:  # what builds ironlaw may be elsewhere
            assert name in lock.BUILDERS


def test_an_audit_that_looked_nothing_up_is_not_a_clean_one():
    clean, hole = {"name": "rich", "version": "15", "vulns": []}, {"id": "CVE-1", "fix_versions": ["2.1"]}
    skipped = {"name": "h11", "skip_reason": "not found on PyPI"}
    assert audit.report([clean]) == (0, ["1 packages looked up, 0 known holes"])
    code, lines = audit.report([clean, skipped])
    assert code == audit.NOT_LOOKED_UP and "h11" in lines[-1] and "not found" in lines[-1]
    code, lines = audit.report([clean, skipped, {"name": "mako", "version": "2.0", "vulns": [hole]}])
    assert code == audit.HOLES and lines[0] == "mako 2.0: CVE-1, fixed in 2.1"
