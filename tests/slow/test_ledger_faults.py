"""What goes wrong on real machines: full disks, folders that may not be written, broken files. Nothing acknowledged is lost.

Kills, at birth and while two write, are in tests/attack/test_ledger_kills.py."""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from how_thorough import RELEASE

from ironlaw.errors import LedgerError
from ironlaw.ledger import open_ledger, rescue
from ironlaw.ledger.faults import KEPT

SOURCE = Path(__file__).parents[2] / "src"
NOBODY = 65534
ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
START = f"""
import json, os, random, signal, sys, time
from pathlib import Path
sys.path.insert(0, {str(SOURCE)!r})
# before any right to read them is given up
import alembic.command, alembic.config, ironlaw.ledger.damage, ironlaw.ledger.restore, ironlaw.ledger.sql_store
from ironlaw.errors import LedgerError
from ironlaw.ledger import open_ledger
folder = Path(sys.argv[1])
path = folder / "ledger.db"
"""


def command(script, *arguments):
    return [sys.executable, "-c", START + script, *map(str, arguments)]


def run(script, *arguments, before=()):
    """What the script printed, as JSON."""
    done = subprocess.run([*before, *command(script, *arguments)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def folder():
    """Under the system's folder, which also nobody may enter."""
    yield from temporary(None)


@pytest.fixture
def memory():
    """In memory where there is such a folder: what is asked is who waits for whom, not how fast the disk is."""
    yield from temporary("/dev/shm" if os.access("/dev/shm", os.W_OK) else None)


def temporary(under):
    made = Path(tempfile.mkdtemp(prefix="ironlaw-faults-", dir=under))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


# --- many writers, and kills ---

WRITER = """
print("ready", flush=True)
sys.stdin.readline()
ledger = open_ledger(path)
print(json.dumps([ledger.append("lab", "card", {"who": sys.argv[2], "n": n}).id for n in range(25)]))
"""


def test_processes_that_write_together_lose_no_event(memory):
    """Four of them, eight before a release."""
    count = 8 if RELEASE else 4
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    started = [subprocess.Popen(command(WRITER, memory, who), **pipes) for who in range(count)]
    assert [process.stdout.readline() for process in started] == ["ready\n"] * count  # all have imported, and write at the same time
    for process in started:
        process.stdin.write("\n")
        process.stdin.flush()
    told = [json.loads(process.communicate(timeout=600)[0]) for process in started]
    with open_ledger(memory / "ledger.db") as ledger:
        events = ledger.events()
    assert len(events) == count * 25
    for who, ids in enumerate(told):
        mine = [event for event in events if event.payload["who"] == str(who)]
        assert [event.id for event in mine] == ids
        assert [event.payload["n"] for event in mine] == list(range(25))
    assert [found.name for found in memory.iterdir()] == ["ledger.db"]


# --- no room ---

FULL = """
import resource
ledger = open_ledger(path)
made, errors, limit = [], [], resource.getrlimit(resource.RLIMIT_FSIZE)
if sys.argv[2] == "limit":
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, limit[1]))
else:
    (folder / "filler").write_bytes(b"x" * 300_000)
for number in range(5000):
    try:
        made.append(ledger.append("lab", "card", {"n": number, "text": "y" * 3000}).id)
    except LedgerError as error:
        errors.append(str(error))
        if len(errors) == 3:
            break
during = [event.id for event in ledger.events()]
try:
    open_ledger(folder / "second.db")
except LedgerError as error:
    errors.append(str(error))
left = sorted(found.name for found in folder.iterdir() if "second" in found.name)
resource.setrlimit(resource.RLIMIT_FSIZE, limit)
(folder / "filler").unlink(missing_ok=True)
last = ledger.append("lab", "opened", {}).id
ledger.close()
after = [event.id for event in open_ledger(path).events()]
print(json.dumps(dict(made=made, errors=errors, during=during, last=last, after=after, left=left)))
"""


def mounts():
    """A little disk of our own, in a namespace of our own; only root may."""
    if not ROOT or not shutil.which("unshare"):
        return False
    return subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False).returncode == 0


needs_mounts = pytest.mark.skipif(not mounts(), reason="only root may mount a small disk")


@pytest.mark.parametrize("how", ["limit", pytest.param("disk", marks=needs_mounts)])
def test_a_full_disk_loses_nothing_acknowledged(folder, how):
    script = 'mount -t tmpfs -o size=900k none "$0" && exec "$@"'
    told = run(FULL, folder, how, before=["unshare", "-m", "sh", "-c", script, folder] if how == "disk" else ())
    assert 0 < len(told["made"]) < 5000
    assert told["during"] == told["made"]
    assert told["after"] == [*told["made"], told["last"]]
    assert all("not written" in error and KEPT in error for error in told["errors"][:3])
    if how == "disk":
        assert all("no room on the disk" in error and "free some space" in error for error in told["errors"][:3])
        assert len(told["errors"]) == 4 and "second.db" in told["errors"][3] and ".new" not in told["errors"][3]
        assert told["left"] == []


# --- no permission ---

FORBIDDEN = f"""
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid({NOBODY})
    os.setuid({NOBODY})
said = []
for attempt in range(2):
    try:
        open_ledger(None if sys.argv[2] == "home" else path).append("lab", "opened", {{}})
    except LedgerError as error:
        said.append(str(error))
print(json.dumps(said))
"""


@pytest.fixture
def kept(folder):
    """A ledger of another user's, with one event."""
    with open_ledger(folder / "ledger.db") as ledger:
        ledger.append("lab", "opened", {})
    (folder / "ledger.db").chmod(0o666)
    return folder / "ledger.db"


def forbidden(folder, what=""):
    said = run(FORBIDDEN, folder, what)
    assert len(said) == 2 and said[0] == said[1]
    return said[0]


def test_a_read_only_folder(folder, kept):
    folder.chmod(0o555)
    content = kept.read_bytes()
    told = forbidden(folder)
    assert "no permission to write to the folder" in told and "IRONLAW_HOME" in told and KEPT in told
    assert kept.read_bytes() == content and len(list(folder.iterdir())) == 1
    kept.unlink()
    assert "no permission to write to the folder" in forbidden(folder)


def test_a_read_only_file(folder, kept):
    kept.chmod(0o444)
    folder.chmod(0o777)
    assert "no permission to read and write the file" in forbidden(folder)
    kept.chmod(0o000)
    assert "no permission to read and write the file" in forbidden(folder)


def test_a_home_that_can_t_be_written(folder, monkeypatch):
    folder.chmod(0o555)
    for home in (folder, folder / "new"):
        monkeypatch.setenv("IRONLAW_HOME", str(home))
        assert "set IRONLAW_HOME to a folder that you can write to" in forbidden(folder, "home")


@needs_mounts
def test_a_disk_that_is_mounted_read_only(folder, kept):
    script = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
    told = run(FORBIDDEN.replace("geteuid() == 0", "geteuid() < 0"), folder, "", before=["unshare", "-m", "sh", "-c", script, folder])
    assert len(told) == 2 and "no permission to write to the folder" in told[0]


# --- broken files ---


def test_no_damage_is_met_with_anything_but_an_explanation(folder):
    """Bytes changed, filled and cut at random: the ledger opens or explains, and a file that it refuses or sets aside stays as it is."""
    path, chance = folder / "ledger.db", random.Random(3)
    with open_ledger(path) as ledger:
        one = ledger.append("lab", "card", {"text": "z" * 500})
        told = ledger.export()
        item = told["events"][0]
        told |= {"format": "ironlaw-ledger/1"}
        told["events"] = [{**item, "id": f"{number:08x}{one.id[8:]}"} for number in range(60)]
        ledger.import_(told)
    whole = path.read_bytes()
    refused = carried = rounds = 0
    while rounds < 100 or (carried <= 10 and rounds < 1000):
        rounds += 1
        for found in folder.iterdir():
            found.unlink()
        spoilt = bytearray(whole)
        for _ in range(chance.choice([1, 3, 30])):
            start = chance.randrange(chance.choice([100, 4096, len(spoilt)]))
            length = chance.choice([1, 4, 100, 4096])
            spoilt[start : start + length] = chance.choice([bytes(length), chance.randbytes(length)])
        spoilt = spoilt[: chance.choice([len(spoilt), len(spoilt), chance.randrange(len(spoilt))])]
        path.write_bytes(spoilt)
        try:
            with open_ledger(path) as ledger:
                ledger.history()
                ledger.export()
                if "damaged" in ledger.notice:
                    carried += 1
                    assert next(found for found in folder.iterdir() if ".broken-" in found.name).read_bytes() == spoilt
        except LedgerError as error:
            refused += 1
            assert str(path) in str(error)
            if "is damaged" in str(error):
                assert path.read_bytes() == spoilt
        with suppress(LedgerError):
            rescue(path)
    assert refused > 10 and carried > 10
