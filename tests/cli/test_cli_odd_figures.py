"""Figures, files and streams that once ended in an internal error: each is refused in a sentence."""

import errno
import gzip
import json
import sys

import pytest

from ironlaw.cli import main
from ironlaw.cli.show import plain
from ironlaw.engine.scaling.usl import fit_usl
from ironlaw.errors import BadValue, IronlawError
from ironlaw.report import kineto
from ironlaw.units import parse

BIG = "9" * 400


@pytest.mark.parametrize(
    "design",
    [
        f'[inputs]\na = {BIG}\n[formulas]\ny = "a"',
        f"[inputs]\na = 1\n[formulas]\ny = {BIG}",
        f'[inputs]\na = {"[" * 2000}{"]" * 2000}\n[formulas]\ny = "a"',
        '[inputs]\na = 1e300\nb = 1e300\n[formulas]\ny = "a * b"',
        f'[inputs]\na = 1\n[formulas]\ny = "{"-" * 1900}a"',
        '[inputs]\na = 1\n[formulas]\ny = "a ** a ** 9e99 ** 9e99 / 0"',
    ],
)
def test_designs(design, tmp_path, capsys):
    (tmp_path / "design.toml").write_text(design)
    assert main(["levers", str(tmp_path / "design.toml")]) == 2
    assert capsys.readouterr().err.startswith("ironlaw: ")


def test_speedups_that_no_curve_fits():
    with pytest.raises(BadValue, match="too far apart"):
        fit_usl([(2, 1e-300), (4, 1e300), (8, 1.0)])


def test_a_whole_number_of_hundreds_of_digits_is_not_a_figure():
    with pytest.raises(BadValue, match="finite"):
        parse(int(BIG), "B")
    with pytest.raises(BadValue, match="cannot read"):
        parse(f"{'9' * 5000} and more words", "B")


def test_files_of_a_comparison_that_lack_what_is_compared(tmp_path, capsys):
    (tmp_path / "a.json").write_text(json.dumps({"schema": "ironlaw-predict/1", "workload": "x"}))
    assert main(["diff", str(tmp_path / "a.json"), str(tmp_path / "a.json")]) == 2
    assert "lacks 'predictions'" in capsys.readouterr().err


def test_an_example_is_not_json(capsys):
    for command in ("levers", "slo", "privacy"):
        assert main([command, "--example", "--json"]) == 2
        assert json.loads(capsys.readouterr().out)["error"]["message"].startswith("--example prints TOML")


def test_an_archive_that_unpacks_without_end(tmp_path):
    place = tmp_path / "trace.json.gz"
    place.write_bytes(gzip.compress(bytes(30_000_000)))
    with pytest.raises(BadValue, match="unpacks to more than"):
        kineto.read(place)


def test_a_closed_output_and_a_full_disk_are_failures(monkeypatch, capsys, ironlaw_home):
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["ledger", "export"]) == 1

    class Full:
        def write(self, text):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Full())
    assert main(["--help"]) == 1
    monkeypatch.undo()


def test_a_long_message_keeps_its_end_and_no_message_moves_the_cursor(capsys):
    error = IronlawError("x" * 100_000 + "; do this instead")
    assert len(str(error)) < 5_000 and str(error).endswith("do this instead")
    assert plain.clean("a\x1b[31mb\x07\u202ec\td") == "a\ufffd[31mb\ufffd\ufffdc\td"
    assert main(["predict", "\x1b]0;title\x07"]) == 2
    assert "\x1b" not in capsys.readouterr().err
