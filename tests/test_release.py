"""The release's bookkeeping: version, changelog, citation and tags agree, and a disagreement is named."""

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest
import yaml

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def release() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release_script", ROOT / "scripts" / "release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path: Path, release: ModuleType) -> Path:
    """The files that carry the version, to be changed at will."""
    for name in ("CHANGELOG.md", "CITATION.cff", "src/ironlaw/version.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n- news\n\n## 0.1.0 - 2026-01-02\n\n- begun\n")
    release.prepare(tmp_path, "0.2.0", "2026-03-04")
    return tmp_path


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_this_checkout_agrees(release):
    assert release.problems(ROOT, release.tags(ROOT)) == []


def test_prepare_sets_all_three(release, checkout):
    assert release.version(checkout) == "0.2.0"
    assert "## 0.2.0 - 2026-03-04\n\n- news" in (checkout / "CHANGELOG.md").read_text()
    citation = yaml.safe_load((checkout / "CITATION.cff").read_text())
    assert (citation["version"], str(citation["date-released"])) == ("0.2.0", "2026-03-04")
    assert release.problems(checkout, ["0.1.0"]) == []


def test_prepare_twice_leaves_one_date(release, checkout):
    change(checkout / "CHANGELOG.md", "## 0.2.0", "## Unreleased\n\n- more news\n\n## 0.2.0")
    release.prepare(checkout, "0.3.0", "2026-05-06")
    assert (checkout / "CITATION.cff").read_text().count("date-released") == 1
    assert release.problems(checkout, ["0.1.0", "0.2.0"]) == []


@pytest.mark.parametrize("version", ["v0.2.0", "0.2", "next"])
def test_a_version_is_three_numbers(release, checkout, version):
    with pytest.raises(SystemExit, match="not a version"):
        release.prepare(checkout, version, "2026-03-04")


def test_nothing_to_release(release, checkout):
    with pytest.raises(SystemExit, match="nothing to release"):
        release.prepare(checkout, "0.3.0", "2026-03-04")


@pytest.mark.parametrize(
    ("file", "old", "new", "tagged", "problem"),
    [
        ("src/ironlaw/version.py", '"0.2.0"', '"0.2.1"', [], "starts with 0.2.0, and __version__ is 0.2.1"),
        ("src/ironlaw/version.py", '"0.2.0"', '"0.1.9"', [], "has 0.2.0 already"),
        ("src/ironlaw/version.py", '"0.2.0"', '"dev"', [], "write three numbers"),
        ("CHANGELOG.md", "0.2.0 - 2026-03-04", "0.2.0 (March)", [], "neither 'Unreleased' nor"),
        ("CHANGELOG.md", "## 0.1.0 - 2026-01-02", "## Unreleased", [], "not the first heading"),
        ("CHANGELOG.md", "## 0.1.0 -", "## 0.3.0 -", [], "not in descending order"),
        ("CHANGELOG.md", "# Changelog", "# Changelog", ["0.1.5"], "tag v0.1.5 has no heading"),
        ("CHANGELOG.md", "## 0.2.0", "## Unreleased\n\n- more\n\n## 0.2.0", ["0.2.0"], "there are unreleased changes"),
        ("CITATION.cff", "version: 0.2.0", "version: 0.1.0", [], "does not name version 0.2.0"),
        ("CITATION.cff", "2026-03-04", "2026-03-05", [], "does not name the date"),
    ],
)
def test_what_disagrees_is_named(release, checkout, file, old, new, tagged, problem):
    change(checkout / file, old, new)
    assert any(problem in line for line in release.problems(checkout, tagged))


def test_archives_of_this_version_and_no_other(release, tmp_path):
    assert len(release.missing(tmp_path, "0.2.0")) == 2
    for name in ("ironlaw-0.2.0-py3-none-any.whl", "ironlaw-0.2.0.tar.gz"):
        (tmp_path / name).touch()
    assert release.missing(tmp_path, "0.2.0") == []
    (tmp_path / "ironlaw-0.1.0.tar.gz").touch()
    assert release.missing(tmp_path, "0.2.0") == [f"{tmp_path}: ironlaw-0.1.0.tar.gz is of another version; remove it"]
