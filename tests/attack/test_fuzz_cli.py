"""Odd command lines: every option of every command with good and odd values, among odd files, in odd environments.

Each must end with a documented exit code, without a traceback; a refusal is one paragraph on standard error; JSON is JSON.
Nothing is measured, served or captured: where a command would begin to, it is refused.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections import Counter
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from functools import partial
from unittest import mock

import pytest
from attack_length import fuzzing
from hypothesis import given
from hypothesis import strategies as st

from ironlaw import claims
from ironlaw.cli import COMMANDS, main, parser
from ironlaw.errors import BadValue
from ironlaw.registry.corpus_signatures import corpus

CODES = {0, 1, 2}  # 70 is a fault of ours; 130 and 141 need a Ctrl-C and a closed pipe
DEEP = "[" * 100_000
GOOD = (
    *(
        "resnet50",
        "gpt2",
        "llama3_8b",
        "dscnn_kws",
        "h100",
        "h200_sxm",
        "t4",
        "pi5",
        "this",
        "h100,t4",
        "eager",
        "eager,compiled",
        "graphs",
    ),
    *("fp16", "bf16", "int8", "fp32", "decode", "prefill", "1", "8", "128", "1,8", "8x3x224x224", "8x128:int64", "10 us", "51 MB", "1e9"),
    *(
        "8.2 GFLOP",
        "64,64,64",
        "gemm",
        "claim",
        "model",
        "hbm",
        "l2",
        "lab_01_magnitude",
        "show",
        "export",
        "import",
        "path",
        "new",
        "check",
    ),
    *("model.py:net", "hf:LlamaConfig", "width=3", "a=(1, 2)", "cpu", "0", "2", "30", "1450", "all", "verify", "reset"),
)
FILES = ("deep.json", "nan.json", "binary", "empty", "folder", "none", "none/none", "model.py", "ledger.json", "digits.json", "pipe.json")
ODD = (
    *("", " ", "-", "--", "---", "-1", "-0", "+5", "1e308", "1e-308", "1e999", "nan", "inf", "-inf", "0x10", "1_000", "٣", "½", "1" * 4400),
    *(
        "99999999999999999999x8",
        "x",
        "8x",
        "0x0",
        "1x" * 200 + "1",
        "8x3:fp99",
        ",",
        ",,",
        "a,,b",
        ":",
        "a:b:c",
        "hf:",
        "hf:os",
        "hf:__doc__",
    ),
    *(
        "=",
        "a=",
        "=1",
        "a=[" * 50,
        "a=" + "(" * 300,
        "a=1e999",
        "a=__import__('os')",
        "{}",
        "{0}",
        "%s",
        "%",
        "\\",
        "'",
        '"',
        "`id`",
        "$HOME",
    ),
    *(
        "~nosuchuser/x.db",
        "~",
        "../..",
        "/",
        "/dev/null",
        "/dev/full",
        ".",
        "a" * 5000,
        "a/" * 3000,
        "\t",
        "a\nb",
        "\r",
        "\x1b[31m",
        "\x7f",
        "\0",
    ),
    *(
        "é",
        "日本",
        "🔥" * 50,
        "\u202e",
        "\ud800",
        "\udcff",
        "<script>",
        "[red]x[/red]",
        "a b",
        "@file",
        "--help",
        "-h",
        "--version",
        "--json",
    ),
)
ENVIRONMENT = {
    "COLUMNS": ("0", "1", "-5", "x", "20", "400"),
    "IRONLAW_LEDGER": (
        "~nosuchuser/x.db",
        "/dev/null",
        "none/none/x.db",
        "folder",
        "binary",
        "postgresql://",
        "sqlite://",
        "mysql://x",
        "\ud800",
    ),
    "IRONLAW_HOME": ("~nosuchuser/x", "/dev/null", "binary", "/proc/1/x", "relative", "\ud800"),
    "NO_COLOR": ("1",),
    "TERM": ("dumb", ""),
}
VALUES = st.one_of(st.sampled_from(GOOD), st.sampled_from(FILES), st.sampled_from(ODD), st.text(max_size=12))


def options(command: str) -> list[str]:
    return [text for action in parser(command)._actions for text in action.option_strings]


OPTIONS = {command: options(command) for command in COMMANDS}


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    command = draw(st.sampled_from(sorted(COMMANDS)))
    words = [command] if draw(st.integers(0, 15)) else [draw(VALUES)]
    words += draw(st.lists(VALUES, max_size=2))
    for option in draw(st.lists(st.sampled_from(OPTIONS[command]), max_size=4)):
        words += [option] if draw(st.booleans()) else [option, draw(VALUES)]
        if not draw(st.integers(0, 7)):
            words[-1] = f"{option}={draw(VALUES)}"
    return draw(st.permutations(words)) if not draw(st.integers(0, 20)) else words


@st.composite
def environments(draw: st.DrawFn) -> dict[str, str]:
    return {name: draw(st.sampled_from(values)) for name, values in ENVIRONMENT.items() if not draw(st.integers(0, 5))}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder of odd files, and commands that begin nothing."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    contents = {"deep.json": DEEP, "nan.json": '{"traceEvents": [{"ph": "X", "ts": NaN}]}', "empty": "", "model.py": "net = 1\n"}
    contents |= {"ledger.json": '{"format": "ironlaw-ledger/1", "events": [{}]}', "digits.json": "9" * 5000, "pipe.json": '{"machines": 3}'}
    for name, text in contents.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "binary").write_bytes(bytes(range(256)) * 20)

    def refuse(*_, **__):
        raise BadValue("nothing is begun in this test")

    for name in ("server.serve", "cli.measure.choose", "cli.model_run.run_model", "worker.run", "kit.lab_check.problems"):
        monkeypatch.setattr(f"ironlaw.{name}", refuse)
    monkeypatch.setattr("ironlaw.cli.lab.labs", lambda: tmp_path / "labs")
    monkeypatch.setattr("ironlaw.compare.comparisons", lambda *_: iter(()))
    few = dict(list(claims.claims().items())[:8])  # a hundred take seconds to compute
    monkeypatch.setattr(claims, "claims", lambda: few)
    # as do the thousands of operators of the corpus
    monkeypatch.setattr("ironlaw.cli.coverage.corpus", partial(corpus, most=20))
    return tmp_path


def run(argv: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2)]
    safe = {name: value for name, value in environment.items() if _encodable(value)}
    with ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, safe))
        stack.enter_context(mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{}"), encoding="utf-8")))
        stack.enter_context(redirect_stdout(streams[0]))
        stack.enter_context(redirect_stderr(streams[1]))
        os.environ.pop("IRONLAW_DEBUG", None)
        code = main(argv)
        for stream in streams:
            stream.flush()
    out, err = (stream.buffer.getvalue().decode("utf-8", "replace") for stream in streams)
    return code, out, err


def _encodable(value: str) -> bool:
    try:
        os.fsencode(value)
    except UnicodeEncodeError:
        return False
    return "\0" not in value


def strictly(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def test_odd_command_lines(place, figure):
    codes: Counter[int] = Counter()

    @fuzzing(30, 500)
    @given(command_lines(), environments())
    def attack(argv: list[str], environment: dict[str, str]) -> None:
        code, out, err = run(argv, environment)
        codes[code] += 1
        assert code in CODES, (code, err)
        assert "Traceback" not in out + err
        if code == 2:
            assert err.splitlines()[-1].startswith("ironlaw: "), (out, err)
            assert json.loads(out)["exit_code"] == 2 if "--json" in argv else out == "", (out, err)
        elif code == 0 and "--json" in argv and out.startswith(("{", "[")):
            json.loads(out, parse_constant=strictly)

    attack()
    assert codes[0] and codes[2]
    figure(
        f"{sum(codes.values()):,} odd command lines: 0 tracebacks; exit codes " + ", ".join(f"{k} ×{n}" for k, n in sorted(codes.items()))
    )


@pytest.mark.parametrize(
    ("argv", "environment"),
    [
        (["ledger", "show"], {"IRONLAW_LEDGER": "~nosuchuser/x.db"}),
        (["ledger", "path"], {"IRONLAW_LEDGER": "~nosuchuser/x.db"}),
        (["review"], {"IRONLAW_LEDGER": "~nosuchuser/x.db"}),
        (["ledger", "export", ".", "--force"], {}),
        (["ledger", "export", "", "--force"], {}),
        (["analyze", "model.py:net", "--on", "t4", "--trace", "deep.json"], {}),
        (["analyze", "model.py:net", "--on", "t4", "--trace", "digits.json"], {}),
        (["validate", "--history", "deep.json"], {}),
        (["validate", "--history", "digits.json"], {}),
        (["measure", "--out", "deep.json"], {}),
        (["ledger", "import", "deep.json"], {}),
    ],
    ids=lambda value: " ".join(value)[:50] if isinstance(value, list) else "",
)
def test_what_was_an_internal_error(place, argv, environment):
    code, _, err = run(argv, environment)
    assert code == 2 and err.startswith("ironlaw: ") and err.count("\n") == 1, (code, err)
