"""`--on this`: the machine that was measured here, in every command that takes one; and what is said where there is none."""

import json

import pytest

from ironlaw.cli.show import draw
from ironlaw.registry.loader import folder


@pytest.fixture
def place(ironlaw_home):
    path = ironlaw_home / "hardware" / "this_machine.toml"
    path.parent.mkdir()
    path.write_text((folder("hardware") / "laptop_cpu.toml").read_text())
    return path


def test_it_is_a_machine_among_the_others(sh, place):
    first = sh.out("hardware").splitlines()
    assert next(line for line in first if "GFLOP/s" in line or "TFLOP" in line or "GB" in line).split()[0] == "this_machine"
    assert sh.json("hardware")["machines"][-1]["slug"] == "this_machine"
    told = sh.json("hardware", "this")
    assert (told["slug"], told["aliases"], told["bandwidth"]) == ("this_machine", ["this", "here", "local"], 89.6e9)
    assert "also called" in sh.out("hardware", "here") and "this_machine" in sh.out("hardware", "here")


def test_it_can_be_asked_for_everywhere(sh, place):
    (p,) = sh.json("predict", "mlp8_1024", "--on", "this", "--dtype", "fp32")["predictions"]
    assert (p["hardware"], p["calibrated"]) == ("this_machine", False)
    both = sh.json("predict", "mlp8_1024", "--on", "local,laptop", "--dtype", "fp32")["predictions"]
    assert [found["hardware"] for found in both] == ["this_machine", "laptop_cpu"] and both[0]["seconds"] == both[1]["seconds"]
    assert "this_machine" in sh.out("roofline", "--gemm", "512,512,512", "--on", "this", "--dtype", "fp32")


@pytest.mark.parametrize("command", [("hardware", "this"), ("predict", "resnet50", "--on", "this"), ("validate", "--on", "this")])
def test_not_measured_yet(sh, command):
    code, out, err = sh(*command)
    assert (code, out) == (2, "") and "this machine was not measured yet; run `ironlaw measure` first" in err


def test_the_list_says_how_to_add_it(sh):
    assert "`ironlaw measure` adds this machine." in sh.out("hardware")


def test_a_damaged_file_is_said_and_the_others_are_listed(sh, place):
    place.write_text("name = ")
    code, out, err = sh("predict", "resnet50", "--on", "this")
    assert (code, out) == (2, "") and "this_machine.toml can't be used" in err and "run `ironlaw measure`" in err
    out = sh.out("hardware")
    assert "h100_sxm" in out and "✗ this machine: " in out


def test_measured_but_without_evidence(sh, place):
    code, _, err = sh("validate", "--on", "this")
    assert code == 2 and "nothing was measured on this_machine; machines with measurements: h200_sxm" in err


def test_its_models_are_validated_and_never_fail_the_validation(sh, place, ironlaw_home):
    row = {"kind": "model", "workload": "mlp8_1024", "params": {"batch": 1, "dtype": "fp32"}, "mode": "eager", "wall_s": 1.0, "kernels": 16}
    file = {"format": "ironlaw-evidence/1", "machine": {"hardware": "this_machine"}, "software": {"python": "3"}, "date": "2026-11-15"}
    path = ironlaw_home / "evidence" / "this_machine" / "models.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(file | {"method": "by hand", "rows": [row]}))
    told = sh.json("validate", "--on", "this")
    assert [(r["machine"], r["measured"]) for r in told["rows"]] == [("this_machine", 1.0)]
    assert sh.json("validate", "--kind", "model")["summary"][-1]["machine"] == "this_machine"
    path.write_text(json.dumps(file | {"method": "by hand", "rows": [row | {"device": "cpu"}, row | {"device": "cuda"}]}))
    assert len(sh.json("validate", "--on", "this")["rows"]) == 1  # its figures are the processor's
    path.write_text("{")
    code, _, err = sh("validate", "--on", "this")
    assert code == 2 and "evidence this_machine/models is damaged" in err


# ---- without rich, as on a machine where nothing can be installed


@pytest.fixture
def bare(monkeypatch):
    monkeypatch.setattr(draw, "rich", lambda: False)
    monkeypatch.setattr(draw, "console", lambda: 1 / 0)


def test_tables_without_rich(sh, bare, place):
    lines = sh.out("hardware").splitlines()
    head, rule, first = lines[0], lines[1], lines[2]
    assert head.startswith("slug") and set(rule) == {"─", " "} and first.startswith("this_machine")
    assert len({line.rindex("B/s") for line in lines if line.count("B/s") == 1 and "TB/s" in line}) == 1  # figures are aligned
    out = sh.out("hardware", "h100")
    assert "NVIDIA H100 SXM5" in out and "989 TFLOP/s" in out
    out = sh.out("predict", "resnet50", "--on", "h100,t4", "--ops", "3")
    assert "█" in out and "h100_sxm" in out and "the 3 longest of" in out
