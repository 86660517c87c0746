"""Writers that are killed (-9) at any moment, two at a time: no acknowledged event is lost, and the chain never breaks or forks.

A second or less each, and longer where a busy machine has not come to a few kills by then; `IRONLAW_ATTACK=full` gives every attack 60.
"""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from attack_length import FULL

from ironlaw.ledger import open_ledger, verify

SOURCE = Path(__file__).parents[2] / "src"
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")

# Forked from one process that has done its imports, so that a kill meets the ledger and not the imports.
START = f"""
import json, os, random, shutil, signal, sys, time
from pathlib import Path
sys.path.insert(0, {str(SOURCE)!r})
import alembic.command, alembic.config
from ironlaw.ledger import open_ledger, verify
folder, seconds = Path(sys.argv[1]), float(sys.argv[2])
path, until = folder / "ledger.db", time.monotonic() + seconds
random.seed(15)
kills = 0

def goes_on():
    return kills < 6 or time.monotonic() < until

def child(work):
    number = os.fork()
    if number:
        return number
    try:
        work()
    finally:
        os._exit(0)

def kill(number):
    os.kill(number, signal.SIGKILL)
    os.waitpid(number, 0)
"""


@pytest.fixture
def folder():
    """On a disk, and not in memory: a commit must wait for it."""
    made = Path(tempfile.mkdtemp(prefix="ironlaw-kills-"))
    yield made
    shutil.rmtree(made)


def run(script, folder, seconds):
    command = [sys.executable, "-c", START + script, str(folder), str(60.0 if FULL else seconds)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


WRITERS = """
acks = os.open(folder / "acks", os.O_CREAT | os.O_APPEND | os.O_WRONLY)

def write():
    ledger = open_ledger(path)
    while True:
        os.write(acks, (ledger.append("lab", "card", {"text": "x" * random.randrange(6000)}).id + "\\n").encode())

writers, longest = [child(write), child(write)], 0.2
while goes_on() or not os.fstat(acks).st_size:
    time.sleep(random.uniform(0.02, longest))
    kill(writers.pop(random.randrange(2)))
    writers.append(child(write))
    kills += 1
    longest *= 1 if os.fstat(acks).st_size else 1.5  # on a busy machine nobody had come to an event
for number in writers:
    kill(number)
print(json.dumps({"kills": kills + 2}))
"""


def test_kills_of_writers_lose_nothing_acknowledged(folder, figure):
    kills = run(WRITERS, folder, 1)["kills"]
    acknowledged = (folder / "acks").read_text().split()
    with open_ledger(folder / "ledger.db") as ledger:
        held = [event.id for event in ledger.history()]
        assert ledger.notice == ""
    figure(f"{kills} kills of a ledger's two writers: {len(acknowledged):,} acknowledged, {len(set(acknowledged) - set(held))} lost")
    assert kills > 3 and acknowledged and set(acknowledged) <= set(held)
    assert len(held) - len(acknowledged) <= kills  # one of each may have been written and not yet acknowledged
    assert verify(folder / "ledger.db").events == len(held)
    with closing(sqlite3.connect(folder / "ledger.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


BIRTHS = """
while goes_on():
    number = child(lambda: open_ledger(path))
    time.sleep(random.uniform(0, 0.15))
    kill(number)
    kills += 1
    if path.exists():  # then it is whole
        with open_ledger(path) as ledger:
            assert ledger.events() == [] and ledger.notice == ""
        assert verify(path).events == 0
        path.unlink()
for left in folder.iterdir():
    os.utime(left, (1, 1))
with open_ledger(path) as ledger:
    ledger.append("lab", "opened", {})
print(json.dumps({"kills": kills, "left": sorted(found.name for found in folder.iterdir() if found.name.endswith((".new", ".part")))}))
"""


def test_kills_at_birth_leave_no_half_of_a_ledger_and_nothing_behind(folder, figure):
    told = run(BIRTHS, folder, 0.5)
    figure(f"{told['kills']} kills while a ledger is created: none half, nothing left behind")
    assert told["kills"] > 3 and told["left"] == []


REPAIRS = """
with open_ledger(path) as ledger:
    ids = [ledger.append("lab", "card", {"n": number, "text": "x" * 500}).id for number in range(60)]
whole = bytearray(path.read_bytes())
place = whole.index(b'"n": 30,') + 5
whole[place] ^= 1  # 30 is 20 now, or so: one event is no longer as it was written
seen = 0
while goes_on():
    for found in folder.iterdir():
        found.unlink()
    path.write_bytes(whole)
    number = child(lambda: open_ledger(path))
    time.sleep(random.uniform(0, 0.25))
    kill(number)
    kills += 1
    seen += any(".broken-" in found.name for found in folder.iterdir())
    with open_ledger(path) as ledger:
        events = ledger.history()
    assert [event.id for event in events[:-1]] == ids[:30] + ids[31:], len(events)
    assert events[-1].kind == "carried"
    assert any(".broken-" in found.name and found.read_bytes() == bytes(whole) for found in folder.iterdir())
print(json.dumps({"kills": kills, "seen": seen}))
"""


def test_kills_while_a_broken_ledger_is_set_aside(folder, figure):
    """At no moment is there no ledger, or an empty one: before, it is the broken one, and after, the rest of it."""
    told = run(REPAIRS, folder, 1)
    figure(f"{told['kills']} kills while a broken ledger is set aside: nothing lost ({told['seen']} after the old file had its new name)")
    assert told["kills"] > 3
