"""What the repository promises about itself: targets, import contract, a light import, and no trace of one machine."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "ironlaw"


def files() -> list[Path]:
    """All files that belong to the repository, tracked or about to be."""
    listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        found = (ROOT / name for name in listed.stdout.split("\0") if name)
    else:  # a source archive: no git there
        found = (path for path in ROOT.rglob("*") if not {".venv", ".git", "mutants"} & set(path.relative_to(ROOT).parts))
    return [path for path in found if path.is_file()]


def test_no_file_names_a_folder_of_one_machine():
    # Taken apart, so that this file is clean itself.
    absolute = re.compile(r"(?<![\w.~$}])/(" + "|".join(["work", "root"]) + r")/")
    guilty = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in files()
        if b"\0" not in (content := path.read_bytes())
        for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1)
        if absolute.search(line)
    ]
    assert not guilty


def test_makefile_has_the_targets():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert targets >= {"labs", "test", "test-release", "check", "attack", "bench", "mutants", "docs", "wheel", "release", "clean", "help"}


def test_ci_runs_make_test():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text().splitlines()[-1] == "exec make test"


def test_set_up_can_be_read_by_an_old_python():
    ast.parse((ROOT / "scripts" / "setup.py").read_text(), feature_version=(3, 6))


# --- what an import brings with it ---

IMPORTS = """
import importlib, json, pkgutil, sys
before = set(sys.modules)
package = importlib.import_module(sys.argv[1])
if "--all" in sys.argv:
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
brought = {name.partition(".")[0] for name in set(sys.modules) - before}
print(json.dumps(sorted(brought - sys.stdlib_module_names - {"ironlaw"})))
"""


def brought_by(*arguments: str, options: tuple[str, ...] = ()) -> list[str]:
    """The packages outside the standard library that an import loads, seen in a fresh interpreter."""
    script = f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r})\n" + IMPORTS
    done = subprocess.run([sys.executable, *options, "-c", script, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_engine_needs_the_standard_library_only():
    # -S: no site-packages at all, as in a bare Python.
    assert brought_by("ironlaw.engine", "--all", options=("-I", "-S")) == []


def test_engine_leaves_numpy_alone_where_it_is_installed():
    assert brought_by("ironlaw.engine", "--all") == []


def test_import_ironlaw_is_light():
    assert brought_by("ironlaw") == []


# --- the import contract ---


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(PACKAGE, tmp_path / "ironlaw", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / ".importlinter", tmp_path)
    return tmp_path / "ironlaw"


def lint(copy: Path) -> tuple[int, str]:
    # lint-imports puts the folder it runs in before everything else, so it is the copy that is looked at.
    program = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([program, "--no-cache"], cwd=copy.parent, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


# room, what a module there imports, the contract that is broken by it
TRESPASSES = [
    ("engine", "import ironlaw.cli", "Imports go one way"),
    ("engine", "def clock():\n    import time", "The engine is pure"),
    ("registry", "import torch", "PyTorch only in"),
    ("registry", "import marimo", "marimo only in"),
    ("registry", "import sqlite3", "SQL only in"),
    ("labs/lab_14_tail", "import ironlaw.labs.lab_13_line.design", "A lab knows no other lab"),
    ("newroom", "", "Imports go one way"),
]
# between two modules of a room, also where one of them needs the other for its annotations alone
CIRCLES = {"first": "", "third": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    "}


def test_the_contract_notices_every_trespass(copy: Path):
    """All in one copy: what is looked for is the module that trespasses, under the contract that it breaks."""
    for number, (room, statement, _) in enumerate(TRESPASSES):
        (copy / room).mkdir(exist_ok=True)
        (copy / room / "__init__.py").touch()
        (copy / room / f"trespasser_{number}.py").write_text(statement + "\n")
    for one, guard in CIRCLES.items():
        (copy / "report" / f"{one}.py").write_text(f"import ironlaw.report.{one}_other\n")
        (copy / "report" / f"{one}_other.py").write_text(f"{guard}import ironlaw.report.{one}\n")
    code, output = lint(copy)
    assert code != 0
    for contract in {broken for _, _, broken in TRESPASSES} | {"No module imports itself"}:
        assert re.search(re.escape(contract) + r".* BROKEN", output), output
    trespassers = {f"trespasser_{number}" for number, (_, statement, _) in enumerate(TRESPASSES) if statement}
    assert {name for name in trespassers if name in output} == trespassers, output
    assert "newroom" in output and all(re.search(rf"[.]({one} -> [.]{one}_other|{one}_other -> [.]{one})", output) for one in CIRCLES), (
        output
    )


def test_no_package_imports_a_module_that_imports_it():
    """The one circle that the contract can't see: it compares siblings, and a package is the parent of its modules."""
    graph = grimp.build_graph("ironlaw", cache_dir=None)
    packages = [name for name in graph.modules if graph.find_children(name)]
    circles = [
        f"{module} <-> {package}"
        for package in packages
        for module in graph.find_modules_that_directly_import(package)
        if module.startswith(package + ".") and graph.chain_exists(importer=package, imported=module)
    ]
    assert circles == []
