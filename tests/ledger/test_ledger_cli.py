"""`ironlaw ledger`, through `main(argv)`."""

import io
import json
import os
import sqlite3
import sys
from contextlib import closing

import pytest

from ironlaw.cli import main
from ironlaw.ledger import open_ledger

LAB = "lab_01_magnitude"


@pytest.fixture
def run(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("IRONLAW_LEDGER", raising=False)

    def command(*argv):
        code = main(["ledger", *map(str, argv)])
        out, err = capsys.readouterr()
        assert "Traceback" not in err and err.count("\n") <= 1
        return code, out, err

    return command


@pytest.fixture
def worked(run):
    with open_ledger() as ledger:
        ledger.set_learner_name("Ada")
        ledger.append(LAB, "opened", {})
        ledger.commit_prediction(LAB, "act1", 2, 1e6, 4, False)
        ledger.append(LAB, "design", {"batch": 8, "note": "n" * 200})
        return ledger.history()


def test_show_says_where_nothing_is(run, ironlaw_home):
    code, out, _ = run("show")
    assert code == 0 and "No events yet" in out and "ironlaw labs" in out
    assert str(ironlaw_home) in out.replace("\n", "")


def test_show(run, worked):
    code, out, _ = run("show")
    assert code == 0 and LAB in out and "saved" in out
    code, out, _ = run("show", "--lab", LAB)
    assert code == 0 and "3 events" in out and "question act1" in out and "…" in out
    code, out, _ = run("show", "--lab", "lab_99")
    assert code == 0 and "None under this name" in out


def test_show_as_json(run, worked):
    told = json.loads(run("show", "--json")[1])
    assert told["learner"]["name"] == "Ada" and list(told["labs"]) == [LAB]
    assert told["labs"][LAB]["predictions"] == 1 and told["labs"][LAB]["design"]["batch"] == 8
    assert [event["kind"] for event in json.loads(run("show", "--lab", LAB, "--json")[1])["events"]] == ["opened", "prediction", "design"]


def test_path_creates_nothing(run, ironlaw_home):
    assert run("path") == (0, f"{ironlaw_home / 'ledger.db'}\n", "")
    assert list(ironlaw_home.iterdir()) == []


def test_export_and_import(run, worked, tmp_path, monkeypatch):
    told = json.loads(run("export")[1])
    assert [event["id"] for event in told["events"]] == [event.id for event in worked]
    target = tmp_path / "back-up.json"
    code, out, _ = run("export", target)
    assert code == 0 and out.startswith("4 events written")
    assert json.loads(target.read_text())["events"] == told["events"]
    monkeypatch.setenv("IRONLAW_LEDGER", str(tmp_path / "second.db"))
    assert run("import", target)[1].startswith("4 new events of 4")
    assert run("import", target)[1].startswith("0 new events of 4")
    with open_ledger() as second:
        assert second.history() == worked


def test_import_from_the_terminal(run, worked, tmp_path, monkeypatch):
    text = run("export", "-")[1]
    monkeypatch.setenv("IRONLAW_LEDGER", str(tmp_path / "second.db"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbf" + text.encode())))
    assert run("import", "-")[1].startswith("4 new events of 4")


def test_export_replaces_nothing_unasked(run, worked, tmp_path):
    target = tmp_path / "thesis.json"
    target.write_text("mine")
    code, _, err = run("export", target)
    assert code == 2 and "--force" in err and target.read_text() == "mine"
    assert run("export", target, "--force")[0] == 0
    assert json.loads(target.read_text())["format"] == "ironlaw-ledger/2"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes and devices among the files of this system")
def test_export_goes_into_regular_files_only(run, worked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    for target in (".", "", "pipe", "/dev/null"):
        code, out, err = run("export", target, "--force")
        assert (code, out) == (2, "") and "name" in err, target
    assert os.path.exists("/dev/null") and not os.path.isfile("/dev/null")
    assert [found.name for found in tmp_path.iterdir()] == ["pipe"]


def test_verify(run, worked, ironlaw_home, tmp_path):
    code, out, _ = run("verify")
    head = json.loads(run("export")[1])["chain"]["head"]
    assert code == 0 and "4 events" in out and head in out
    assert run("export", tmp_path / "hand-in.json")[0] == 0
    code, out, _ = run("verify", tmp_path / "hand-in.json")
    assert code == 0 and "4 events" in out and head in out
    (tmp_path / "hand-in.json").write_text((tmp_path / "hand-in.json").read_text().replace('"correct": false', '"correct": true'))
    for act in ("verify", "import"):
        code, out, err = run(act, tmp_path / "hand-in.json")
        assert (code, out) == (2, "") and "event 3 (prediction" in err and "was changed" in err
    tamper(ironlaw_home / "ledger.db", "DROP TRIGGER ironlaw_events_no_update")
    code, out, err = run("verify")
    assert code == 2 and "ironlaw_events_no_update is missing" in err and "ironlaw ledger repair" in err
    tamper(ironlaw_home / "ledger.db", "UPDATE ironlaw_events SET payload = replace(payload, 'false', 'true')")
    code, out, err = run("verify")
    assert (code, out) == (2, "") and f"event {worked[2].id} (prediction, {LAB}, " in err and "was changed after it was written" in err
    code, out, _ = run("repair")
    assert code == 0 and "3 events could be carried over" in out and "1 could not" in out
    assert run("repair")[1].startswith("Nothing is damaged") and "4 events" in run("verify")[1]


def tamper(path, *statements):
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def test_a_damaged_ledger_is_set_aside_and_the_terminal_says_so(run, worked, ironlaw_home):
    tamper(ironlaw_home / "ledger.db", "DROP TRIGGER ironlaw_events_no_delete", "DELETE FROM ironlaw_events WHERE seq = 2")
    code, out, err = run("show")
    assert code == 0 and LAB in out and "Your ledger was damaged" in err and "3 events could be carried over" in err and ".broken-" in err
    assert run("show")[2] == ""


def test_reset(run, worked):
    code, out, _ = run("reset")
    assert code == 0 and out.startswith("Epoch 2 has begun")
    assert len(json.loads(run("export")[1])["events"]) == 5
    assert "No events yet" in run("show")[1]


def test_a_home_that_nobody_has(run, monkeypatch):
    monkeypatch.setenv("IRONLAW_LEDGER", "~nosuchuser/x.db")
    for act in ("path", "show", "export", "verify", "repair", "reset"):
        code, out, err = run(act)
        assert (code, out) == (2, "") and "~nosuchuser/x.db" in err, act


def test_bad_input(run, tmp_path):
    (tmp_path / "no.json").write_text("{")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    (tmp_path / "other.json").write_text("{}")
    for argv, words in (
        ((), "needs one of show, export"),
        (("shwo",), "did you mean show"),
        (("import",), "name one: ironlaw ledger import FILE"),
        (("path", "x"), "takes no FILE"),
        (("export", "--lab", LAB), "takes no --lab"),
        (("import", tmp_path / "no.json"), "read as JSON"),
        (("import", tmp_path / "deep.json"), "read as JSON"),
        (("import", tmp_path / "bytes.json"), "read as JSON"),
        (("import", tmp_path / "other.json"), "has no 'format'"),
        (("import", tmp_path / "missing.json"), "can't be read"),
        (("import", tmp_path), "can't be read"),
        (("export", tmp_path / "nowhere" / "all.json"), "there is no folder"),
    ):
        code, out, err = run(*argv)
        assert (code, out) == (2, "") and words in err, argv


def test_a_damaged_ledger_is_one_paragraph(run, ironlaw_home):
    (ironlaw_home / "ledger.db").touch()
    for act in ("show", "export"):
        code, out, err = run(act)
        assert (code, out) == (2, "") and "damaged" in err and "ironlaw ledger repair" in err
    assert run("repair")[0] == run("show")[0] == 0


def test_rescue(run, worked, ironlaw_home, tmp_path):
    target = tmp_path / "saved.json"
    code, _, err = run("export", target, "--rescue")
    assert code == 0 and err == "4 events can be read; 0 can't, or were changed\n"
    exported = json.loads(run("export")[1])["events"]
    assert json.loads(target.read_text())["events"] == [{k: v for k, v in event.items() if k != "hash"} for event in exported]
    (ironlaw_home / "ledger.db").write_bytes(b"x" * 9000)
    code, _, err = run("export", "--rescue")
    assert code == 2 and "nothing in the ledger" in err and "can be read" in err


def test_a_certificate_is_written_and_verified(run, worked, tmp_path, monkeypatch):
    file, backup = tmp_path / "certificate.json", tmp_path / "export.json"
    assert run("certificate", file)[:2] == (0, f"the certificate of 4 events written to {file}\n")
    assert run("certificate", file)[0] == 2  # it is there already
    code, out, _ = run("verify", file)
    assert code == 0 and "follows from all 4 events" in out and "can't prove" in out
    run("export", backup)
    forged = json.loads(file.read_text())
    forged["calibration"]["right"] = 1
    (tmp_path / "forged.json").write_text(json.dumps(forged))
    code, _, err = run("verify", tmp_path / "forged.json")
    assert code == 2 and "calibration.right: the certificate says 1, the ledger 0" in err
    monkeypatch.setenv("IRONLAW_HOME", str(tmp_path / "elsewhere"))
    code, _, err = run("verify", file)
    assert code == 2 and "older copy, or another ledger" in err and "--against" in err
    code, out, _ = run("verify", file, "--against", backup)
    assert code == 0
    for odd in ("[]", "null", '{"events": 5}'):
        (tmp_path / "odd.json").write_text(odd)
        assert "is not an export of a ledger" in run("verify", file, "--against", tmp_path / "odd.json")[2]
    assert run("import", backup)[0] == 0  # another ledger, which then has a friend's events
    run("certificate", tmp_path / "friend.json")
    code, out, _ = run("verify", tmp_path / "friend.json")
    assert code == 0 and f"Imported from the ledger {worked[0].learner}: 4 events, with" in out
    if os.name == "posix":
        assert backup.stat().st_mode & 0o077 == 0 == file.stat().st_mode & 0o077
    (tmp_path / "twice.json").write_text(file.read_text().replace('"labs":', '"labs": "all right", "labs":', 1))
    assert "'labs' is written twice" in run("verify", tmp_path / "twice.json", "--against", backup)[2]
    assert "is for a certificate" in run("verify", backup, "--against", backup)[2]
    assert "name one" in run("verify", "--against", backup)[2] and "takes no --against" in run("show", "--against", backup)[2]
