"""What labs with simulations show at their defaults, as JSON, with every stream of random numbers drawn from other seeds.

python other_seeds.py SALT SLUG…: a process of its own, for a figure that was computed once is kept.
"""

import json
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "labs"))

from ironlaw.engine import streams

SALT = int(sys.argv[1])
drawn = streams.integers
streams.integers = lambda seed, n: drawn(seed ^ SALT, n)

from headless import Page, bare  # noqa: E402

from ironlaw.kit.lab_check import complete  # noqa: E402
from ironlaw.ledger import open_ledger  # noqa: E402

TIME = re.compile(r"\d\d:\d\d|\d{4}-\d\d-\d\d\S*")


def texts(value):
    if isinstance(value, dict):
        return [text for key, each in value.items() if key != "hover" for text in texts(each)]
    if isinstance(value, list):
        return [text for each in value for text in texts(each)]
    return [value] if isinstance(value, str) else []


def shown(slug):
    """Sentences of the page, and the cards and formulas of its instruments."""
    with tempfile.TemporaryDirectory() as folder, open_ledger(Path(folder) / "ledger.db") as ledger:
        page = Page(ledger, slug)
        complete(page.lab)
        page.reload()
        said = [sentence for part in page.parts.values() if part for sentence in re.split(r"(?<=[.!?])\s+", bare(part.text))]
        views = [element.widget.view for element in page.lab.elements.values() if element.widget.kind == "instrument"]
        said += [bare(text) for view in views for text in texts([view.get("cards"), view.get("formula"), view.get("note")])]
        return [TIME.sub("", text) for text in said if text.strip()]


if __name__ == "__main__":
    print(json.dumps({slug: shown(slug) for slug in sys.argv[2:]}))
