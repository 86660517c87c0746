"""No command writes over what it reads, or over anything that is not a regular file."""

import os
from pathlib import Path

import pytest

from ironlaw.cli import measure_model
from ironlaw.errors import BadValue
from ironlaw.ledger import open_ledger
from ironlaw.measure.evidence_file import append

posix = pytest.mark.skipif(os.name != "posix", reason="Windows has no such files")


@pytest.fixture
def odd(tmp_path, monkeypatch):
    """A pipe, a folder, and links to them and to a device."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    os.mkdir("folder")
    for name, target in (("to_pipe", "pipe"), ("to_folder", "folder"), ("to_device", "/dev/null")):
        os.symlink(target, name)
    return ("pipe", "folder", "to_pipe", "to_folder", "to_device", "/dev/null", ".", "")


def kinds(places):
    return [(os.stat(place or ".").st_mode, os.stat(place or ".").st_ino, os.path.islink(place or ".")) for place in places]


@posix
@pytest.mark.parametrize(
    "argv",
    [
        ("ledger", "export", "PLACE", "--force"),
        ("validate", "--history", "PLACE"),
        ("analyze", "model.py:net", "--on", "h100", "--html", "PLACE"),
        ("analyze", "model.py:net", "--on", "h100", "--chrome-trace", "PLACE"),
        ("predict", "mlp8_1024", "--on", "h100", "--chrome-trace", "PLACE"),
    ],
    ids=lambda argv: " ".join((argv[0], argv[-2])),
)
def test_only_into_regular_files(sh, odd, argv):
    before = kinds(odd)
    for place in odd:
        if place or argv[0] == "ledger":  # elsewhere an empty name is none
            code, out, err = sh(*[place if word == "PLACE" else word for word in argv])
            assert (code, out) == (2, "") and "is a " in err and ("such as" in err or "regular file" in err), err
    assert kinds(odd) == before
    assert sorted(os.listdir()) == ["folder", "pipe", "to_device", "to_folder", "to_pipe"]


@posix
def test_evidence_only_into_regular_files(odd):
    for place in odd:
        with pytest.raises(BadValue, match=r"is a (folder|pipe|device)"):
            measure_model.writable(place)


def test_a_model_measured_into_its_own_evidence_is_added_once(ironlaw_home):
    own = measure_model.kept_at(None)
    append(own[0], [], machine={"name": "this"}, software={"python": "3"}, method="by hand")
    row = '{"kind": "model", "model": "x", "mode": "eager", "wall_s": 1}'
    own[0].write_text(own[0].read_text().replace('"rows": [\n\n]', f'"rows": [{row}]'))
    assert measure_model.kept_at(str(own[0])) == own
    assert len(measure_model.kept_at(str(own[0].with_name("other.json")))) == 2


def test_an_export_never_replaces_the_ledger(sh, tmp_path, ironlaw_home):
    with open_ledger() as ledger:
        ledger.append("lab_01_magnitude", "opened", {})
        place = ledger.where()
    before = Path(place).read_bytes()
    os.symlink(place, tmp_path / "link") if os.name == "posix" else None
    for name in (place, *([tmp_path / "link"] if os.name == "posix" else []), f"{place}-wal"):
        code, _, err = sh("ledger", "export", name, "--force")
        assert code == 2 and "which is read here; give another file" in err
    assert Path(place).read_bytes() == before


def test_a_report_never_replaces_the_model_or_the_trace(sh, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {"model.py": "import torch\n", "trace.json": "{}", "notes.txt": "mine", "beside.py": "x = 1\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    for name, words in (
        ("model.py", "over model.py, which is read"),
        ("./model.py", "over model.py"),
        ("trace.json", "over trace.json, which is read"),
        ("notes.txt", "already exists and is something else"),
        ("beside.py", "already exists and is something else"),  # what the model imports is safe too
    ):
        code, out, err = sh("analyze", "model.py:net", "--on", "h100", "--trace", "trace.json", "--html", name)
        assert (code, out) == (2, "") and words in err, err
    assert {name: (tmp_path / name).read_text() for name in files} == files
