"""Which simulated figures of the labs' pages, at their defaults, other seeds don't confirm to the digits shown.

python scripts/other_seeds.py [--seeds 10] [SLUG…]

Every stream of random numbers is drawn again from other seeds, each in a process of its own, for a figure that was computed once is kept.
A figure may differ by one in its last digit: it may lie at the edge of being rounded up. What is listed should show fewer digits, run
longer, or be the exact law.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from difflib import SequenceMatcher
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests/labs")]
SIMULATED = ("lab_13_line", "lab_14_tail", "lab_v2_03_fabric", "lab_v2_07_checkpoint", "lab_v2_10_kv_serving", "lab_v2_12_slo")
TIME = re.compile(r"\d\d:\d\d|\d{4}-\d\d-\d\d\S*")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
FULL = 6  # digits of a figure for machines to read, which nobody sees


def texts(value):
    if isinstance(value, dict):
        return [text for key, each in value.items() if key != "hover" for text in texts(each)]
    if isinstance(value, list):
        return [text for each in value for text in texts(each)]
    return [value] if isinstance(value, str) else []


def shown(slug):
    """Sentences of the page, and the cards and formulas of its instruments."""
    from headless import Page, bare

    from ironlaw.kit.lab_check import complete
    from ironlaw.ledger import open_ledger

    with tempfile.TemporaryDirectory() as folder, open_ledger(Path(folder) / "ledger.db") as ledger:
        page = Page(ledger, slug)
        complete(page.lab)
        page.reload()
        said = [sentence for part in page.parts.values() if part for sentence in re.split(r"(?<=[.!?])\s+", bare(part.text))]
        views = [element.widget.view for element in page.lab.elements.values() if element.widget.kind == "instrument"]
        said += [bare(text) for view in views for text in texts([view.get("cards"), view.get("formula"), view.get("note")])]
        return [TIME.sub("", text) for text in said if text.strip()]


def drawn(salt, slugs):
    command = [sys.executable, __file__, "--salt", str(salt), *slugs]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def unit(number):
    """What its last digit stands for; of a whole number with zeros at its end, at most three digits are meant."""
    whole, _, decimals = number.replace(",", "").partition(".")
    return 10.0 ** -len(decimals) if decimals else 10.0 ** max(0, len(whole) - 3)


def value(number):
    return float(number.replace(",", ""))


def apart(one, other):
    """Figures of a sentence that differ by more than one in their last digit."""
    pairs = [(a, b) for a, b in zip(NUMBER.findall(one), NUMBER.findall(other), strict=True) if len(a.replace(",", "")) < FULL]
    return [(a, b) for a, b in pairs if abs(value(a) - value(b)) > 1.001 * max(unit(a), unit(b))]


def compared(first, other):
    """(sentence, figures there, figures with the other seed); sentences whose words differ are paired with nothing."""
    bare = [[NUMBER.sub("#", text) for text in side] for side in (first, other)]
    for tag, i, j, k, m in SequenceMatcher(None, *bare, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from ((one, apart(one, two)) for one, two in zip(first[i:j], other[k:m], strict=True) if apart(one, two))
        else:
            yield from ((one, ["other words"]) for one in first[i:j])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("slugs", nargs="*", default=SIMULATED)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--salt", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.salt is not None:
        from ironlaw.engine import streams

        integers = streams.integers
        streams.integers = lambda seed, n: integers(seed ^ args.salt, n)
        print(json.dumps({slug: shown(slug) for slug in args.slugs}))
        return
    first, found = drawn(0, args.slugs), {}
    for seed in range(1, args.seeds + 1):
        other = drawn(1_000_003 * seed, args.slugs)
        for slug in args.slugs:
            for sentence, figures in compared(first[slug], other[slug]):
                found.setdefault((slug, sentence), []).append(figures)
    for (slug, sentence), figures in found.items():
        print(f"{slug}: {len(figures)} of {args.seeds} seeds differ: {sentence[:200]}\n    {figures[0]}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
