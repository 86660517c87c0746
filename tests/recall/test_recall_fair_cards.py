"""Is every card fair? Over many seeds: its key varies, one answer is right, and whatever the answer needs can be seen on the card."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations

import pytest
from in_groups import in_groups
from reads import Read, compute

from ironlaw.recall import card_expressions, card_words
from ironlaw.recall.card_templates import template
from ironlaw.recall.card_templates import templates as bank
from ironlaw.recall.card_variants import overlap
from ironlaw.recall.grade import hint, margin
from ironlaw.units import show_capacity, significant

ALL = sorted(bank())
KEYED = [name for name in ALL if bank()[name].kind != "explain"]
CHOSEN = [name for name in ALL if bank()[name].options]
MOST = 0.70
# what a card asks for by feel, from a figure on it, and not by computing
BY_FEEL = {"decode_batch": "the intensity at one batch, from that at another"}


def lab_of(name):
    return bank()[name].lab


keyed = in_groups("name", KEYED, lab_of)


def key_of(made):
    return made.key if made.template.kind == "order" else made.answer


def shown(made):
    """Everything that a learner can see before answering, one tap included."""
    parts = [made.text, *(choice.label for choice in made.choices)]
    return " | ".join(parts + [f"{fact.label}: {fact.value}" for fact in made.facts])


def expressions_of(found):
    """What the key is computed from."""
    return [item.value for item in found.items] if found.items else [found.key]


def several(drawn, name, most=6):
    """Variants with different values, enough of them to meet every case of a draw."""
    distinct = {repr(sorted(made.values.items(), key=str)): made for made in drawn(name)}
    step = max(1, len(distinct) // most)
    return list(distinct.values())[::step]


# --- keys


@keyed
def test_the_key_varies(drawn, name):
    keys = Counter(key_of(made) for made in drawn(name))
    assert len(keys) >= 2, f"{name} always has the answer {next(iter(keys))}"
    answer, times = keys.most_common(1)[0]
    assert times <= MOST * len(drawn(name)), f"{name}: {answer} is the answer {times} times of {len(drawn(name))}"


@keyed
def test_one_answer_is_right(drawn, name):
    """Within the stated tolerance, no mistake, no other option and no neighbour in an order could pass for the key."""
    found = template(name)
    for made in drawn(name):
        if found.kind == "numeric":
            assert not any(overlap(made.key, mistake.value, found.tolerance) for mistake in made.mistakes)
        elif found.kind == "choice":
            assert [choice.id for choice in made.choices].count(made.key) == 1
            assert len({choice.label for choice in made.choices}) == len(made.choices)
            if made.mistakes:  # options that are figures: any two are apart
                figures = [card_expressions.evaluate(found.key, name, made.values), *(mistake.value for mistake in made.mistakes)]
                assert not any(overlap(a, b, found.tolerance) for a, b in combinations(figures, 2)), (name, made.seed)
        else:
            assert found.tolerance > 0, f"{name}: say how far apart the things to put in order are"
            values = {item.id: float(card_expressions.evaluate(item.value, name, made.values)) for item in found.items}
            assert not any(overlap(values[a], values[b], found.tolerance) for a, b in combinations(made.key, 2)), (name, made.seed)


@in_groups("name", CHOSEN, lab_of)
def test_no_choice_hinges_on_a_few_percent(drawn, name):
    """A machine's figure or a model's may be off by 5%, a measurement by 2%: the key stays."""
    found = template(name)
    for made in several(drawn, name):
        _, log = compute(found.key, made.values)
        for place in log.reads:
            off = 1.02 if "sxm/" in place[0] else 1.05
            for factor in (off, 1 / off):
                key, _ = compute(found.key, made.values, {place: factor})
                assert str(key) == made.key, f"{name}: {place} × {factor:.2f} makes it {key}; it was {made.key} ({made.values})"


# --- what can be seen


@keyed
def test_every_figure_that_the_key_is_computed_from_can_be_seen(drawn, name):
    if name in BY_FEEL:
        return
    found = template(name)
    for made in several(drawn, name):
        text = shown(made)
        for expression in expressions_of(found):
            _, log = compute(expression, made.values)
            missing = [read for read in log.reads.values() if not seen(read, text) and not ridge_is_enough(read, log, found, made, text)]
            assert not missing, f"{name}: {[(read.owner, read.name, read.value) for read in missing]} is not in: {text}"


def seen(read: Read, text: str) -> bool:
    """Whether the figure, or a group of figures that it follows from, is in the text."""
    units = {"FLOP/s": ("FLOP/s", "OP/s"), "FLOP/B": ("FLOP/B", "OP/B")}.get(read.unit, (read.unit,))
    written = {card_words.amount(read.value, unit, digits) for unit in units for digits in (2, 3, 4)}
    written |= {"": {f"{significant(read.value)} "}, "B": {show_capacity(read.value)}}.get(read.unit, set())
    if any(re.search(rf"(?<![\d.,]){re.escape(figure)}(?![\d])", text) for figure in written):
        return True
    return any(all(seen(other, text) for other in group) for group in read.instead)


def ridge_is_enough(read, log, found, made, text):
    """A peak and a bandwidth need not be shown where the key follows from their ratio, and that is shown."""
    kind = read.name.partition(".")[0]
    pair = {name: other for (owner, name), other in log.reads.items() if owner == read.owner}
    peaks = [other for name, other in pair.items() if name.startswith(("peak.", "vector."))]
    if kind not in ("peak", "vector", "bandwidth") or len(peaks) != 1 or "bandwidth" not in pair:
        return False
    ridge = Read(read.owner, "ridge", peaks[0].value / pair["bandwidth"].value, "FLOP/B")
    both = {(read.owner, peaks[0].name): 2.0, (read.owner, "bandwidth"): 2.0}
    same, _ = compute(found.key, made.values, both)
    return seen(ridge, text) and same == pytest.approx(card_expressions.evaluate(found.key, found.id, made.values))


@keyed
def test_every_drawn_value_that_the_key_uses_can_be_seen(name):
    """By the slots of the question, its options and its facts."""
    found = template(name)
    visible = " ".join([found.ask, *(option.label for option in found.options), *(item.label for item in found.items)])
    facts = " ".join(entry if isinstance(entry, str) else f"{entry[0]} {entry[1]}" for entry in found.facts)
    named = card_words.slots(f"{visible} {facts}")
    sources = {slot: entry[0] if isinstance(entry, list) else entry for slot, entry in found.show.items()}
    expressed = [sources[slot] for slot in named if slot in sources] + [entry[1] for entry in found.facts if not isinstance(entry, str)]
    readable = named | set().union(*map(card_expressions.names, expressed), re.findall(r"\b\w+\b", facts))
    # a value that was drawn from others, as `model` from `case`, shows those; one that others were drawn from is shown by them
    for later, entry in found.draw.items():
        if isinstance(entry, str) and later in readable:
            readable |= card_expressions.names(entry)
    used = set().union(*map(card_expressions.names, expressions_of(found))) & set(found.draw)
    for later, entry in reversed(found.draw.items()):
        if isinstance(entry, str) and later in used and later not in readable and card_expressions.names(entry) & readable:
            used.discard(later)
    assert used <= readable, f"{name}: {sorted(used - readable)} is used by the key and cannot be seen"


@keyed
def test_the_format_is_named(drawn, name):
    """Bytes and rates depend on the number format: a card says which."""
    found = template(name)
    text = " ".join(expressions_of(found))
    literal = set(re.findall(r'"(fp\d+|int\d+|bf16)"', text))
    sized = re.search(r"\b(product|Tensor|attention|chain|compose|kv_cache)\(", text) and found.unit in ("B", "s", "FLOP/B", "FLOP/s", "")
    for made in several(drawn, name):
        formats = literal | {value for value in made.values.values() if value in ("fp32", "fp16", "fp8", "bf16", "int8", "int4")}
        if sized and not formats and found.kind != "choice":
            formats = {"fp16"}
        for fmt in formats & {"fp32", "fp16", "fp8", "bf16", "int8", "int4"}:
            assert fmt.upper() in shown(made), f"{name}: {fmt} is nowhere in: {shown(made)}"


@keyed
def test_the_tolerance_is_on_the_card(drawn, name):
    made, found = drawn(name)[0], template(name)
    if found.kind == "numeric":
        assert f"within {100 * found.tolerance:g}% counts as right" in hint(made)
    elif found.kind == "order":
        assert re.search(r"No two are within \d+% of each other", margin(made)) and margin(made).rstrip(".") in hint(made)


@in_groups("name", [name for name in KEYED if bank()[name].facts], lab_of)
def test_no_fact_gives_the_answer_away(drawn, name):
    for made in drawn(name):
        assert all(made.answer not in fact.value for fact in made.facts), (name, made.seed)


def test_a_figure_that_is_missing_would_be_noticed(drawn):
    """The check itself: without its facts, a card that needs them fails it."""
    made = next(made for made in drawn("order_by_ridge"))
    bare = " | ".join([made.text, *(choice.label for choice in made.choices)])
    _, log = compute(template("order_by_ridge").items[0].value, made.values)
    assert {name for _, name in log.reads} == {"peak.fp16", "bandwidth"}
    assert not any(seen(read, bare) for read in log.reads.values()) and all(seen(read, shown(made)) for read in log.reads.values())
