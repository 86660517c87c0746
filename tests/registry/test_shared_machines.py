"""A machine that somebody measured: exported whole and without anything personal, checked when it is added, and then known by its name."""

import getpass
import json
import os
import socket

import pytest

import ironlaw as il
from ironlaw.calibration import local_machine
from ironlaw.cli import main
from ironlaw.errors import BadValue, UnknownName
from ironlaw.registry import shared_machines
from ironlaw.registry.evidence import file as evidence_file
from ironlaw.registry.loader import folder
from ironlaw.registry.machines import machines, own_machines

EVERY = 7  # row of the registry's: enough of each kind for curves


@pytest.fixture(scope="module")
def rows():
    found = evidence_file("neoverse_n1_2core/machine").rows
    return [row.to_json() for i, row in enumerate(found) if row.kind == "launch" or (row.kind == "op" and i % EVERY == 0)]


@pytest.fixture
def this(ironlaw_home, rows):
    """This machine is a Neoverse: its file, and its rows."""
    about = evidence_file("neoverse_n1_2core/machine")
    head = {"format": "ironlaw-evidence/1", "machine": about.machine | {"notes": []}, "software": about.software, "date": about.date}
    figures = (folder("hardware") / "neoverse_n1_2core.toml").read_text()
    figures = "\n".join('name = "This machine: Neoverse-N1"' if line.startswith("name =") else line for line in figures.splitlines())
    figures = "\n".join("aliases = []" if line.startswith("aliases =") else line for line in figures.splitlines())
    x = [["fp32", "activation", 8]]
    row = rows[-1] | {"op": "captured", "params": {"kind": "relu", "inputs": x, "outputs": x, "attrs": {}, "dtype": "fp32"}, "wall_s": 1e-5}
    model = {"kind": "model", "model": "secret_project.py", "mode": "eager", "wall_s": 1.0}
    for name, text in (
        ("hardware/this_machine.toml", figures),
        ("evidence/this_machine/machine.json", json.dumps(head | {"method": "by hand", "rows": [*rows, model]})),
        ("evidence/this_machine/operators.json", json.dumps(head | {"method": "by hand", "rows": [row]})),
        ("evidence/this_machine/models.json", json.dumps(head | {"method": "by hand", "rows": [model]})),
    ):
        (ironlaw_home / name).parent.mkdir(parents=True, exist_ok=True)
        (ironlaw_home / name).write_text(text)
    return ironlaw_home


@pytest.fixture
def file(this, tmp_path, capsys):
    path = tmp_path / "theirs.json"
    assert main(["measure", "--export", str(path)]) == 0
    assert "No host name, no user, no path" in " ".join(capsys.readouterr().out.split())
    return path


def ran(capsys, *argv):
    code = main([*argv])
    out, err = capsys.readouterr()
    return code, " ".join(out.split()), " ".join(err.split())


def test_what_is_exported_is_whole_and_names_nobody(file, rows):
    content = json.loads(file.read_text())
    assert content["holds"] == shared_machines.HOLDS and content["format"] == "ironlaw-machine/1"
    assert content["evidence"]["machine.json"]["rows"] == rows and len(content["evidence"]["operators.json"]["rows"]) == 1
    for word in ("secret_project", socket.gethostname(), os.path.expanduser("~") + "/", f"/{getpass.getuser()}/", str(file.parent)):
        assert word not in file.read_text(), word


def test_it_is_added_and_known_by_its_name_in_every_command(file, capsys, ironlaw_home):
    for place in ("hardware", "evidence", "calibration"):  # another machine's home
        for path in (ironlaw_home / place).rglob("*.*"):
            path.unlink()
    code, out, _ = ran(capsys, "hardware", "add", str(file), "their box")
    assert code == 0 and "--on their_box" in out and "fitted" in out
    theirs, registered = il.hardware("their_box"), il.hardware("neoverse_n1_2core")
    assert theirs.name == "Neoverse-N1" and "their_box" in machines() and own_machines()["their_box"] == ""
    graph = il.workload("resnet18", batch=1, dtype="fp32")
    again, known = (il.predict(graph, machine) for machine in (theirs, registered))
    assert again.calibrated and again.seconds == pytest.approx(known.seconds, rel=0.35)  # by a seventh of the rows
    assert "corrected by 1 operators" in " ".join(theirs.caveats)
    code, out, _ = ran(capsys, "predict", "resnet18", "--on", "their_box", "--dtype", "fp32", "--json")
    assert code == 0 and json.loads(out)["predictions"][0]["hardware"] == "their_box"
    code, out, _ = ran(capsys, "hardware", "check", "their_box", "--json")
    assert code == 0 and json.loads(out)["machines"][0]["kind"] == "calibrated"


def test_its_name_is_the_devices_unless_one_is_given(file, capsys):
    code, out, _ = ran(capsys, "hardware", "add", str(file), "--json")
    told = json.loads(out)
    assert code == 0 and told["slug"] == "neoverse_n1_measured" and told["curves"] and told["rows"] > 100
    assert shared_machines.slug_for(shared_machines.read(file)) == told["slug"]  # it may be added again


def changed(file, change):
    content = json.loads(file.read_text())
    change(content)
    content["sha256"] = shared_machines.digest(content)
    file.write_text(json.dumps(content))


def slow(content):
    content["evidence"]["machine.json"]["rows"][3]["wall_s"] = 1e6


def negative(content):
    content["evidence"]["machine.json"]["rows"][3]["wall_s"] = -1.0


def impossible(content):
    for row in content["evidence"]["machine.json"]["rows"]:
        if row["kind"] == "op":
            row["wall_s"] = 1e-9


def unsourced(content):
    content["figures"] = content["figures"].replace("source =", "said =", 1)


def test_nothing_is_exported_that_nobody_could_add(this, tmp_path, capsys):
    """Peaks of a busy machine: its own operators are faster than they allow."""
    place = this / "evidence/this_machine/machine.json"
    content = json.loads(place.read_text())
    for row in content["rows"]:
        if row["kind"] == "op":
            row["wall_s"] /= 20.0
    place.write_text(json.dumps(content))
    code, out, err = ran(capsys, "measure", "--export", str(tmp_path / "mine.json"))
    assert (code, out) == (2, "") and "contradicts itself" in err and "again while nothing else runs" in err
    assert not (tmp_path / "mine.json").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (slow, "wall_s is 1000000.0, not a time between 0 and 10,000 s"),
        (negative, "wall_s is -1.0"),
        (impossible, "contradicts itself"),
        (unsourced, "every figure carries its source"),
        (lambda content: content.pop("figures"), "lacks figures or evidence"),
        (lambda content: content["evidence"].pop("machine.json"), "lacks figures or evidence"),
        (lambda content: content["evidence"].update(other={}), "'other', which this version does not know; update ironlaw"),
        (lambda content: content["evidence"]["machine.json"].update(format="ironlaw-evidence/9"), "ironlaw-evidence/9"),
        (lambda content: content["evidence"]["machine.json"]["rows"].append({"kind": "model", "mode": "eager"}), "its kind is"),
        (lambda content: content.update(format="ironlaw-machine/9"), "its format is 'ironlaw-machine/9', and this version reads"),
    ],
)  # fmt: skip
def test_what_can_not_be_is_refused_and_nothing_stored(file, capsys, ironlaw_home, change, words):
    changed(file, change)
    code, out, err = ran(capsys, "hardware", "add", str(file), "theirs")
    assert (code, out) == (2, "") and words in err
    assert not (ironlaw_home / "hardware/theirs.toml").exists() and not local_machine.curves("theirs").exists()


def test_a_changed_or_cut_file_is_refused(file, capsys):
    text = file.read_text()
    file.write_text(text.replace("e-05", "e-06", 1))
    assert "its hash does not fit" in ran(capsys, "hardware", "add", str(file))[2]
    file.write_text(text[: len(text) // 2])
    assert "can't be read" in ran(capsys, "hardware", "add", str(file))[2]
    file.write_text("[1]")
    assert "is not a machine's file" in ran(capsys, "hardware", "add", str(file))[2]
    file.unlink()
    assert "there is no file" in ran(capsys, "hardware", "add", str(file))[2]
    assert "takes the file and, if you like, a name" in ran(capsys, "hardware", "add")[2]


def test_names_that_are_taken(file, capsys, ironlaw_home):
    for name in ("h100", "h100_sxm", "this"):
        assert "give another name" in ran(capsys, "hardware", "add", str(file), name)[2]
    (ironlaw_home / "hardware/mine.toml").write_text("mine")
    assert "of your own that nobody added" in ran(capsys, "hardware", "add", str(file), "mine")[2]
    assert "can't be a name" in ran(capsys, "hardware", "add", str(file), "§§")[2]


def test_nothing_to_export(capsys, tmp_path, ironlaw_home):
    with pytest.raises(UnknownName, match="not measured yet"):
        shared_machines.exported()
    assert "run `ironlaw measure` first" in ran(capsys, "measure", "--export", str(tmp_path / "a.json"))[2]
    (ironlaw_home / "hardware").mkdir()
    (ironlaw_home / "hardware/this_machine.toml").write_text((folder("hardware") / "laptop_cpu.toml").read_text())
    with pytest.raises(BadValue, match="has figures but no rows"):
        shared_machines.exported()


def test_a_place_that_can_not_be_written_to(this, capsys, tmp_path):
    assert "there is no folder" in ran(capsys, "measure", "--export", str(tmp_path / "no" / "a.json"))[2]
    assert "is a folder" in ran(capsys, "measure", "--export", str(tmp_path))[2]
    assert "give it alone" in ran(capsys, "measure", "--export", str(tmp_path / "a.json"), "--short")[2]
