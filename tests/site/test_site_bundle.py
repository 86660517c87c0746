"""What the site's Python is made of, alone in an empty Python: every page opens with it, and nothing that a browser lacks is asked for."""

import gzip
import json
import struct
import subprocess
import sys

import pytest
from how_thorough import RELEASE

from ironlaw.claims.names import PLACES
from ironlaw.site import bundle, runtime

# what Pyodide has none of, and what the site leaves out of its standard library
ABSENT = (
    "_sqlite3",
    *(name for name in sys.stdlib_module_names - {"encodings"} if any(map(runtime.UNUSED.fullmatch, (f"{name}/", f"{name}.py")))),
)  # of the encodings, some are left
PROGRAM = """
import json, sys, threading
for name in {absent!r}:
    sys.modules[name] = None
def no_thread(self):
    raise RuntimeError("can't start new thread")
threading.Thread.start = no_thread
sys.path[:0] = [{place!r}]
from ironlaw import kit
from ironlaw.kit.lab_check import complete
from ironlaw.kit.page_host import using
from ironlaw.site.desk import Desk, new_learner
owner, sizes = new_learner(), {{}}
from ironlaw.kit.lab import LABS
for number, lab in enumerate(sorted(path.parent.name for path in LABS.glob("*/lab.py") if path.parent.name != "_template")):
    if lab != "review" and number % {step}:
        continue
    desk = Desk(owner, "[]", "../../")
    answer = json.loads(desk.ask(json.dumps({{"do": "open", "lab": lab}})))
    assert "could not be shown" not in json.dumps(answer), answer
    sizes[lab] = len(answer["pieces"])
    if lab != "review" and number % {every} == 0:
        with using(desk.page):
            complete(kit.open(lab, desk.ledger))
        answer = json.loads(desk.ask(json.dumps({{"do": "open", "lab": lab}})))
        assert "could not be shown" not in json.dumps(answer), answer
        assert "il-receipt-table" in json.dumps(answer)
from ironlaw.kit.prose import html
assert "<mfrac>" in html(r"$$\\frac{{a}}{{b}}$$")
start = Desk(owner, "[]", "./")
assert "Lab 01" in start.ask('{{"do": "start"}}')
explored = json.loads(start.ask('{{"do": "explore", "query": [["workload", "gpt2"]]}}'))
sizes["explore"] = len(explored["traits"]["view"]["figures"])
print(json.dumps(sizes))
"""


@pytest.fixture(scope="module")
def archive():
    return bundle.archive()


@pytest.fixture(scope="module")
def unpacked(archive, tmp_path_factory):
    place = tmp_path_factory.mktemp("site-python")
    packed = gzip.decompress(archive)
    [length] = struct.unpack_from("<I", packed)
    at = 4 + length
    for name, size in json.loads(packed[4:at]):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(packed[at : at + size])
        at += size
    assert at == len(packed)
    return place


def test_every_page_opens_with_the_archive_alone(unpacked):
    program = PROGRAM.format(absent=ABSENT, place=str(unpacked), step=1 if RELEASE else 3, every=1 if RELEASE else 6)
    run = subprocess.run([sys.executable, "-I", "-S", "-c", program], check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    sizes = json.loads(run.stdout)
    assert sizes["review"] >= 8 and all(size >= 2 for size in sizes.values())


def test_the_same_files_are_the_same_archive(archive):
    assert bundle.archive() == archive


def test_what_an_expression_may_name_is_there(unpacked):
    """Questions, counter-examples and claims name modules in texts, which are imported when somebody asks."""
    missing = [
        place
        for place in PLACES
        if not any((unpacked / "ironlaw" / f"{place.replace('.', '/')}{end}").is_file() for end in (".py", "/__init__.py"))
    ]
    assert missing == [] and len(PLACES) > 30
