"""What a page in a browser is made of needs none of the libraries that a server, a database or a measurement needs."""

import subprocess
import sys

# a static site's Python has the standard library, markdown and fsrs
ABSENT = (
    "marimo", "anywidget", "traitlets", "ipywidgets", "IPython", "sqlalchemy", "alembic", "starlette", "uvicorn", "multipart", "rich",
    "numpy", "torch", "platformdirs", "psycopg", "sqlite3", "anyio",
)  # fmt: skip
PROGRAM = """
import sys
for name in {absent!r}:
    sys.modules[name] = None
from ironlaw.kit import lab as labs
from ironlaw.kit.page import Page
from ironlaw.ledger import Ledger
from ironlaw.ledger.memory_store import MemoryStore
from ironlaw.pages import gallery, records
from ironlaw.pages import glossary_page as glossary
from ironlaw.pages.lab_catalogue import catalogue
from ironlaw.pages.explore.explore_page import page
learner = "01234567-89ab-4def-8123-456789abcdef"
ledger = Ledger(MemoryStore(learner, "2026-01-05T12:00:00.000000Z"), learner)
for lab in catalogue():
    shown = Page(lab.folder, ledger)
    cells = shown.open()
    assert "could not be shown" not in "".join(cells.values()), cells
    print(lab.slug, len(shown.pieces))
assert "Lab 01" in gallery.gallery(catalogue(), records.records(ledger), "")
assert "roofline" in glossary.page()
assert "resnet50" in page([("workload", "resnet50")])
print("whole")
"""


def test_labs_review_start_page_glossary_and_explore_run_without_them():
    run = subprocess.run([sys.executable, "-c", PROGRAM.format(absent=ABSENT)], check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    *labs, last = run.stdout.splitlines()
    assert last == "whole" and len(labs) >= 4 and all(int(line.split()[1]) >= 4 for line in labs)
