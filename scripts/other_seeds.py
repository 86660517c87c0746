"""Which simulated figures other seeds don't confirm to the digits shown: on the labs' pages at their defaults, in claims and on cards.

python scripts/other_seeds.py [--seeds 10] [NAME…]        such as lab_14_tail, claim/a_spike_passes, card/load_of_batches

Every stream of random numbers is drawn again from other seeds. A figure may differ by one in its last digit, for it may lie at the edge of
being rounded up; of one that is "about" zeros at the end are not meant, and it may differ by two; ranges agree where they overlap. What is
listed should be the exact law, run longer, or show fewer digits. A lab that draws no number is looked at once.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from difflib import SequenceMatcher
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests/labs")]
TIME = re.compile(r"\d\d:\d\d|\d{4}-\d\d-\d\d\S*")
NUMBER = r"\d[\d,]*(?:\.\d+)?"
FIGURE = re.compile(rf"(about |≈ )?({NUMBER})(?:–({NUMBER}))?(?:\s?(ms|s|min)(?![a-z]))?")
SECONDS = {"ms": 1e-3, "min": 60.0}
FULL = 6  # digits of a figure for machines to read, which nobody sees
UNSEEN = ("hover", "points", "exact", "href", "id")
CARD = ("label", "value", "unit", "note")
VARIANTS = range(2)  # of each card


def texts(value):
    if isinstance(value, dict):
        return [text for key, each in value.items() if key not in UNSEEN for text in texts(each)]
    if isinstance(value, (list, tuple)):
        return [text for each in value for text in texts(each)]
    return [value] if isinstance(value, str) else []


def page(slug):
    """Sentences of the page, and the cards, formulas, banners and pictures of its instruments."""
    from headless import Page, bare

    from ironlaw.kit.lab_check import complete
    from ironlaw.ledger import open_ledger

    with tempfile.TemporaryDirectory() as folder, open_ledger(Path(folder) / "ledger.db") as ledger:
        shown = Page(ledger, slug)
        complete(shown.lab)
        shown.reload()
        said = [sentence for part in shown.parts.values() if part for sentence in re.split(r"(?<=[.!?])\s+", bare(part.text))]
        views = [element.widget.view for element in shown.lab.elements.values() if element.widget.kind == "instrument"]
        for view in views:
            said += [bare(" ".join(texts([one.get(name) for name in CARD]))) for one in view["cards"]]
            said += [bare(text) for name in ("formula", "note", "banner") for text in texts(view.get(name))]
            said += [bare(text) for figure in view["figures"] for text in texts(seen(figure))]
        return [TIME.sub("", text) for text in said]


def seen(figure):
    """Title, caption and labels. The words that stand for a picture tell of one run, as its lines do."""
    return [figure.get("title"), figure.get("note"), [mark.get("label") for mark in figure.get("marks", ())]]


def claim(name):
    from ironlaw.claims import claim as read

    one = read(name)
    return [one.judgement.sentence, one.why, one.model, one.verdict]


def belief(name):
    from ironlaw.recall.beliefs import counterexample

    return [counterexample(name).text, str(counterexample(name).holds)]


def card(name):
    from ironlaw.recall.card_templates import template
    from ironlaw.recall.card_variants import variant

    return [text for seed in VARIANTS for text in _of_card(variant(template(name), seed))]


def _of_card(shown):
    return [shown.text, shown.answer, shown.working, *(choice.label for choice in shown.choices), *map(str, shown.facts)]


READ = {"lab": page, "claim": claim, "belief": belief, "card": card}


def names():
    """Everything that may show a simulated figure."""
    from ironlaw.claims import claims
    from ironlaw.recall.beliefs import counterexamples
    from ironlaw.recall.card_templates import templates

    labs = sorted(path.parent.name for path in (ROOT / "src/ironlaw/labs").glob("lab_*/lab.py"))
    rest = {"claim": claims(), "belief": counterexamples(), "card": templates()}
    return labs + [f"{kind}/{name}" for kind, of_kind in rest.items() for name in of_kind]


def said(name):
    kind, _, rest = name.rpartition("/")
    return [text for text in READ[kind or "lab"](rest) if text.strip()]


def draw(salt, asked):
    """Name -> what it says, with streams from other seeds; and whether anything was drawn for it."""
    from ironlaw.engine import streams

    integers, draws = streams.integers, []

    def salted(seed, n):
        draws.append(seed)
        return integers(seed ^ salt, n)

    streams.integers = salted
    return {name: said(name) for name in asked}, bool(draws)


def drawn(salt, asked):
    """The same in a process of its own, for what was computed once is kept."""
    command = [sys.executable, __file__, "--salt", str(salt), *asked]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def places(number, rough):
    """What its last digit stands for; of a whole number at most three digits are meant, and with `rough` no zero at its end."""
    whole, _, decimals = number.replace(",", "").partition(".")
    zeros = len(whole) - len(whole.rstrip("0")) if rough and not decimals else 0
    return 10.0 ** -len(decimals) if decimals else 10.0 ** max(0, len(whole) - 3, zeros)


def figures(text):
    """(least, most) that each figure of a text says, times in seconds; nothing for those that only machines read."""
    found = []
    for rough, first, last, name in FIGURE.findall(text):
        scale, half = SECONDS.get(name, 1.0), places(last or first, rough) / (1 if rough else 2)
        low, high = (float(each.replace(",", "")) for each in (first, last or first))
        if len(first.replace(",", "")) < FULL:
            found.append(
                ((low - (0 if last else half)) * scale, (high + (0 if last else half)) * scale, rough + first + (last and f"–{last}"))
            )
    return found


def apart(one, other):
    """Figures of a sentence that no value could have been rounded to on both sides."""
    pairs = zip(figures(one), figures(other), strict=True)
    return [(a[2], b[2]) for a, b in pairs if max(a[0], b[0]) > min(a[1], b[1]) * (1 + 1e-9) + 1e-12]


def compared(first, other):
    """(sentence, figures there and with the other seed); a sentence that the other does not have is paired with nothing."""
    bare = [[FIGURE.sub("#", text) for text in side] for side in (first, other)]
    for tag, i, j, k, m in SequenceMatcher(None, *bare, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from ((one, apart(one, two)) for one, two in zip(first[i:j], other[k:m], strict=True) if apart(one, two))
        else:
            yield from ((one, ["other words"]) for one in first[i:j])


def groups(asked):
    """Each lab alone, all else of a kind together."""
    kinds = {}
    for name in asked:
        kinds.setdefault(name.rpartition("/")[0] or name, []).append(name)
    return kinds.values()


def unconfirmed(asked, seeds):
    """What is simulated, and (name, sentence) -> what each seed that does not confirm it has instead."""
    simulated, found, asked = [], {}, list(groups(asked))
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # each waits for a process of its own
        firsts = list(pool.map(drawn, [0] * len(asked), asked))
        for group, (first, draws) in zip(asked, firsts, strict=True):
            if not draws:
                continue
            simulated.append(group[0])
            for other, _ in pool.map(drawn, [1_000_003 * seed for seed in range(1, seeds + 1)], [group] * seeds):
                for name in group:
                    for sentence, figures in compared(first[name], other[name]):
                        found.setdefault((name, sentence), []).append(figures)
    return simulated, found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--salt", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.salt is not None:
        print(json.dumps(draw(args.salt, args.names)))
        return
    simulated, found = unconfirmed(args.names or names(), args.seeds)
    print(f"simulated: {', '.join(simulated)}")
    for (name, sentence), figures in found.items():
        print(f"{name}: {len(figures)} of {args.seeds} seeds differ: {sentence[:200]}\n    {figures[0]}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
