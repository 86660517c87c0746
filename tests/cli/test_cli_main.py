"""The entry: help, version, exit codes, pipes, and the page of the docs."""

import importlib.util
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import ironlaw
from ironlaw.cli import COMMANDS, main, parser
from ironlaw.kit.lab import LABS
from ironlaw.kit.lab_check import problems

ROOT = Path(__file__).parents[2]


def test_version(sh):
    assert sh.out("--version") == f"ironlaw {ironlaw.__version__}\n"


@pytest.mark.parametrize("argv", [(), ("--help",), ("-h",)])
def test_help_names_every_command(sh, argv):
    out = sh.out(*argv)
    assert all(f"  {name} " in out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_s_help_ends_with_an_example(sh, name):
    out = sh.out(name, "--help")
    head, _, example = out.rpartition("example:\n")
    assert head and f"ironlaw {name}" in example and "--help" in head


@pytest.mark.parametrize("columns", [80, 120])
def test_help_stays_inside_the_terminal(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = [line for name in ("", *COMMANDS) for line in parser(name).format_help().splitlines()]
    assert [line for line in lines if len(line) > columns] == []


def test_no_name_and_no_command_of_a_help_is_parted(monkeypatch):
    """`class-report` stood as `class-` and `report`, and `ironlaw class assign` on two lines."""
    for columns in (80, 100, 120):
        monkeypatch.setenv("COLUMNS", str(columns))
        for name in COMMANDS:
            options = parser(name).format_help().partition("example:\n")[0].splitlines()
            assert [line for line in options if line.endswith("-") or line.count("`") % 2] == [], name


def test_a_long_example_can_be_copied_from_the_help(monkeypatch):
    from ironlaw.cli.capacity import EXAMPLE

    monkeypatch.setenv("COLUMNS", "80")
    shown = parser("capacity").format_help().partition("example:\n")[2]
    assert " \\\n" in shown
    assert [shlex.split(line) for line in shown.replace("\\\n", "").strip().splitlines()] == [
        shlex.split(line) for line in EXAMPLE.strip().splitlines()
    ]


def examples():
    from importlib import import_module

    for name in COMMANDS:
        if name not in (
            "labs",
            "validate",
            "analyze",
            "coverage",
            "measure",
            "class",
            "site",
            "study",
            "capacity",
            "diff",
            "privacy",
            "slo",
            "levers",
        ):  # one opens a page, the others have tests of their own
            lines = import_module(f"ironlaw.cli.{name}").EXAMPLE.strip().splitlines()
            yield from (line for line in lines if "my.py" not in line)  # a file of the reader's own: tests/torch has one


# seconds each, and tests/labs checks them (test_the_check_finds_nothing); any other lab is checked here
CHECKED = {path.parent.name for path in LABS.glob("[!_]*/lab.py")}


@pytest.mark.parametrize("line", list(examples()))
def test_the_examples_work(sh, line, monkeypatch):
    program, *argv = shlex.split(line)
    monkeypatch.setattr("ironlaw.kit.lab_check.problems", lambda name: [] if name in CHECKED else problems(name))
    if argv[0] == "ledger":
        sh.out("ledger", "show")  # there has to be one
    assert program == "ironlaw" and sh.out(*argv)


def test_ctrl_c_is_130(sh, monkeypatch):
    def interrupted(args):
        raise KeyboardInterrupt

    monkeypatch.setattr("ironlaw.cli.hardware.run", interrupted)
    assert sh("hardware") == (130, "", "")


def test_a_fault_of_ours_is_told_shortly(sh, monkeypatch):
    def broken(args):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("ironlaw.cli.hardware.run", broken)
    code, out, err = sh("hardware")
    assert (code, out) == (70, "") and "ZeroDivisionError: oh" in err and "IRONLAW_DEBUG=1" in err
    monkeypatch.setenv("IRONLAW_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main(["hardware"])


def test_a_failed_validation_is_1(sh, monkeypatch):
    monkeypatch.setattr("ironlaw.cli.validate.run", lambda args: 1)
    assert sh("validate")[0] == 1


def test_labs_hand_over_port_and_browser(sh, monkeypatch):
    asked = {}
    monkeypatch.setattr("ironlaw.server.serve", lambda **options: asked.update(options))
    assert sh("labs", "--port", "8080", "--no-browser")[0] == 0
    assert asked == {"port": 8080, "open_browser": False, "token": None, "pages": None}
    assert sh("labs", "--no-token")[0] == 0 and asked["token"] == ""
    assert sh("labs", "--token", "a-long-enough-token")[0] == 0 and asked["token"] == "a-long-enough-token"
    assert sh("labs", "--token", "")[0] == 2
    assert sh("labs", "--token", "a-long-enough-token", "--no-token")[0] == 2


def test_colours_are_the_terms(sh, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    argv = ("roofline", "--gemm", "64,64,64", "--on", "h100")
    assert "\x1b[38;2;31;168;79mmemory" in sh.out(*argv)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "38;2" not in sh.out(*argv)


def run(*argv, **options):
    return subprocess.Popen([sys.executable, *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8", **options)


def test_help_starts_light():
    process = run("-X", "importtime", "-m", "ironlaw", "--help")
    out, err = process.communicate(timeout=180)
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in err.splitlines()}
    assert process.returncode == 0 and "commands:" in out and "ironlaw" in loaded
    assert not loaded & {"rich", "numpy", "starlette", "uvicorn", "torch", "marimo"}


@pytest.mark.skipif(os.name == "nt", reason="pipes close differently there")
@pytest.mark.parametrize("extra", [(), ("--json",)])
def test_a_closed_pipe_is_quiet(extra):
    process = run("-m", "ironlaw", "hardware", *extra)
    process.stdout.close()
    _, err = process.communicate(timeout=180)
    assert err == "" and process.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_told():
    with open("/dev/full", "w") as full:
        process = subprocess.run([sys.executable, "-m", "ironlaw", "hardware"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert process.returncode == 1 and process.stderr.startswith("ironlaw: No space left") and process.stderr.count("\n") == 1


def test_ascii_terminals_get_something_to_read():
    process = run("-m", "ironlaw", "roofline", "--gemm", "64,64,64", "--on", "h100", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    out, err = process.communicate(timeout=180)
    assert (process.returncode, err) == (0, "") and "h100_sxm" in out and out.isascii()


# ---- the docs


def docs():
    spec = importlib.util.spec_from_file_location("docs_script", ROOT / "scripts" / "docs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_the_docs_is_current(monkeypatch):
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.setattr(sys, "path", sys.path.copy())
    assert docs().main(["--check"]) == 0, "run: python scripts/docs.py"


def test_every_command_is_documented():
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    files = {path.stem for path in (ROOT / "src" / "ironlaw" / "cli").glob("*.py") if "def run(" in path.read_text(encoding="utf-8")}
    # `measure` with a target and with options, `hardware` with a verb
    parts = {"measure_model", "measure_for", "measure_host", "measure_trace", "measure_loader", "hardware_add"}
    assert files - {"__init__", *parts} == set(COMMANDS)
    for name in COMMANDS:
        assert f"## ironlaw {name}\n" in page
        for action in parser(name)._actions:
            assert all(option in page for option in action.option_strings)
