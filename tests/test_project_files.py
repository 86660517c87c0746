"""What the repository says about itself elsewhere than in code: the workflow, pre-commit, the citation, and paths named in the docs."""

import configparser
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "CONTRIBUTING.md",
    ROOT / "README.md",
    ROOT / "SECURITY.md",
    ROOT / "CODE_OF_CONDUCT.md",
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "src" / "ironlaw" / "registry" / "evidence" / "FORMAT.md",
]


def load(name: str) -> dict:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


# ---- the workflow


@pytest.fixture(scope="module")
def jobs() -> dict:
    return load(".github/workflows/test.yml")["jobs"]


def commands(job: dict) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


def test_linux_and_macos_run_make_test(jobs):
    rows = jobs["make-test"]["strategy"]["matrix"]["include"]
    assert {row["os"].partition("-")[0] for row in rows} == {"ubuntu", "macos"}
    oldest = re.search(r'requires-python = ">=(\d\.\d+)"', (ROOT / "pyproject.toml").read_text())[1]
    assert oldest in {row["python"] for row in rows}
    assert commands(jobs["make-test"])[-1] == "make test"


def test_the_nightly_run_is_what_a_release_runs():
    nightly = load(".github/workflows/nightly.yml")
    (job,) = nightly["jobs"].values()
    assert commands(job)[-1] == "make test-release" and nightly["permissions"] == {"contents": "read"} and "timeout-minutes" in job
    release = re.search(r"^release:.*$", (ROOT / "Makefile").read_text(), re.MULTILINE)[0]
    assert "test-release" in release  # make release does not build what was not tested


def test_windows_runs_what_check_runs(jobs):
    """By name, since there is no make target for it: each tool of `make check`, and all tests but those that make test runs apart."""
    makefile = (ROOT / "Makefile").read_text()
    recipe = re.search(r"^check:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)[1]
    tools = set(re.findall(r"\$\(BIN\)/([\w-]+)", recipe))
    lines = commands(jobs["windows"])
    assert {line.split()[0].removeprefix(".venv/Scripts/") for line in lines} >= tools
    apart = set(re.search(r"^APART := (.*)$", makefile, re.MULTILINE)[1].split())
    (tests,) = [line for line in lines if "pytest" in line]
    assert set(re.findall(r"--ignore=tests/(\w+)", tests)) == apart
    assert all((ROOT / "tests" / name).is_dir() for name in apart)


def test_the_workflow_only_reads(jobs):
    assert load(".github/workflows/test.yml")["permissions"] == {"contents": "read"}
    assert all("timeout-minutes" in job for job in jobs.values())


# ---- pre-commit


def test_pre_commit_runs_our_own_tools_and_fetches_none():
    (repository,) = load(".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    entries = [hook["entry"].split()[0] for hook in repository["hooks"]]
    assert {Path(entry).name for entry in entries} == {"ruff", "mypy", "lint-imports"}
    assert all(
        entry.startswith(".venv/bin/") and hook["language"] == "system" for entry, hook in zip(entries, repository["hooks"], strict=True)
    )


# ---- forms and citation


@pytest.mark.parametrize("form", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml")), ids=lambda path: path.stem)
def test_an_issue_form_asks_for_something(form: Path):
    content = yaml.safe_load(form.read_text(encoding="utf-8"))
    assert content["name"] and content["description"]
    fields = [field for field in content["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields) > 0
    assert any(field.get("validations", {}).get("required") for field in fields)


def test_the_citation_is_whole():
    citation = load("CITATION.cff")
    assert {"cff-version", "message", "title", "authors", "version", "license"} <= set(citation)
    assert f'license = "{citation["license"]}"' in (ROOT / "pyproject.toml").read_text()


# ---- types and complexity


def test_every_package_is_checked_strictly():
    mypy = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    assert (mypy["packages"], mypy["strict"]) == (["ironlaw"], True)
    assert [rule["module"] for rule in mypy["overrides"] if rule.get("ignore_errors")] == ["ironlaw.labs.*.lab"]


def test_complexity_is_limited_and_every_exception_explained():
    lint = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["lint"]
    assert lint["mccabe"]["max-complexity"] == 15 and "C901" in lint["select"]
    assert not [name for name, rules in lint["per-file-ignores"].items() if "C901" in rules]
    marked = [
        line for path in (ROOT / "src").rglob("*.py") for line in path.read_text(encoding="utf-8").splitlines() if "noqa: C901" in line
    ]
    assert all(re.search(r"noqa: C901\s+\w+ \w+", line) for line in marked), marked
    ruff = Path(sys.executable).with_name("ruff")
    command = [
        ruff,
        "check",
        "--isolated",
        "--ignore-noqa",
        "--select",
        "C901",
        "--config",
        "lint.mccabe.max-complexity = 25",
        "src",
        "scripts",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


# ---- the order of imports


def test_contributing_has_the_order_that_the_contract_enforces():
    contract = configparser.ConfigParser()
    contract.read(ROOT / ".importlinter")
    lines = (line.strip() for line in contract["importlinter:contract:layers"]["layers"].splitlines())
    layers = [re.findall(r"\w+", line) for line in lines if line and not line.startswith("#")]
    stated = re.search(r"^`(\w+.* → .*)`\.$", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE)[1]
    assert [re.findall(r"\w+", layer) for layer in stated.split(" → ")] == layers


# ---- paths in the docs

PLACEHOLDER = re.compile(r"[<>{}*…$%~]|\bx\.toml|NAME|FILE|FOLDER|HOST|this_machine|(^|/)(my|ours|model|net|report|trace|thesis|wheels)\b")
MADE = {"build", "dist", "public"}  # by make; not there in a fresh checkout
TOP = {path.name for path in ROOT.iterdir()} - MADE | {path.name for path in (ROOT / "src" / "ironlaw").iterdir()} | {"ironlaw"}
BASES = [ROOT, ROOT / "docs", ROOT / "src", ROOT / "src" / "ironlaw"]


def named(page: Path) -> set[str]:
    """Paths in backquotes and links: with a slash and a beginning that the repository has, or a file's name that ends like one of ours."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    quoted = {word for span in re.findall(r"`([^`\n]+)`", text) for word in span.split()}
    prose = re.sub(r"`[^`\n]*`", "", text)  # a call in code, `table[key](argument)`, is not a link
    linked = {link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", prose) if "://" not in link}
    paths = {word.rstrip('.,;:)/"') for word in quoted if "/" in word and word.partition("/")[0] in TOP and "://" not in word}
    return {path for path in paths | linked if path and not PLACEHOLDER.search(path)}


def exists(path: str, page: Path) -> bool:
    return any((base / path).exists() for base in (page.parent, *BASES))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_path_that_a_page_names_exists(page: Path):
    assert sorted(path for path in named(page) if not exists(path, page)) == []


def test_paths_are_found_and_missing_ones_noticed(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text("See `src/ironlaw/home.py`, `tests/gone.py`, `docs/<x>.md`, `ms/s` and [that](missing.md#part), [this](https://a.b/c).")
    assert named(page) == {"src/ironlaw/home.py", "tests/gone.py", "missing.md"}
    assert {path for path in named(page) if not exists(path, page)} == {"tests/gone.py", "missing.md"}


# ---- types


def always_installed() -> set[str]:
    """The distributions that `make check` installs for ironlaw itself, and what they need in turn."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found, waiting = set(), [Requirement(text) for text in project["dependencies"]]
    while waiting:
        name = canonicalize_name(waiting.pop().name)
        if name not in found:
            found.add(name)
            needs = map(Requirement, requires(name) or ())
            waiting += [need for need in needs if not need.marker or need.marker.evaluate({"extra": ""})]
    return found


def test_the_type_checker_reads_only_libraries_that_every_machine_has():
    """Otherwise it says one thing where PyTorch is installed and another where it is not, and the second is where nobody looks."""
    overrides = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]["overrides"]
    skipped = {name.removesuffix(".*") for one in overrides if one.get("follow_imports") == "skip" for name in one["module"]}
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    imported = set(re.findall(r"^[ \t]*(?:import|from) ([a-z]\w*)(?:[. ]|$)(?:[\w.]* import|.*)$", text, re.MULTILINE))
    known, owners = always_installed(), packages_distributions()
    libraries = {name for name in imported if name in owners or name in skipped} - set(sys.stdlib_module_names) - {"ironlaw"}
    assert {"torch", "transformers", "triton", "numpy", "marimo"} <= libraries
    assert {name for name in libraries if not {canonicalize_name(owner) for owner in owners.get(name, ())} & known} <= skipped
