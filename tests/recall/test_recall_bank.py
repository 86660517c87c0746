"""The question bank: two hundred variants of every template, and hand counts of some."""

import math
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest
from how_thorough import RELEASE
from in_groups import in_groups
from wording import faults

from ironlaw.errors import BadRegistry
from ironlaw.recall import card_expressions, card_templates, card_variants, card_words
from ironlaw.recall.card_templates import load, template
from ironlaw.recall.card_templates import templates as bank
from ironlaw.recall.card_variants import variant
from ironlaw.recall.grade import grade
from ironlaw.registry import machines

LABS = Path(card_templates.HERE).parent / "labs"
NOUNS = "kernels|launches|tensors|layers|calls|bytes|devices|reads|writes|tokens|sequences|rows|days|ops|times|heads|elements"
UGLY = re.compile(rf"\{{|\}}|\bnan\b|\binf\b|\bNone\b|\d\.\d{{5,}}|\de[+-]\d|\s[,.;:?]|\s\s|\b1 (?:{NOUNS})\b|(?<![\d.,])\d{{5,}}|\[\]|_")
NAMES = re.compile(r"torch\._dynamo\.explain|TORCH_LOGS=\w+|export_chrome_trace|time\.perf_counter|torch\.\w+|\.item\(\)")
ALL = sorted(bank())


def lab_of(name):
    return bank()[name].lab


def test_there_are_enough_of_every_kind_and_for_every_lab():
    assert len(bank()) >= 60
    kinds = [found.kind for found in bank().values()]
    assert {kind: kinds.count(kind) >= 4 for kind in card_templates.KINDS} == dict.fromkeys(card_templates.KINDS, True)
    assert {found.lab for found in bank().values()} == {path.parent.name for path in LABS.glob("[!_]*/lab.py")}


def test_the_ten_to_start_with_are_those_of_the_course():
    first = sorted((found for found in bank().values() if found.first), key=lambda found: found.first)
    assert [found.first for found in first] == list(range(1, 11))
    assert [found.id for found in first] == [
        "ridge_point", "relu_regime", "tensors_saved", "trace_or_script", "trace_and_ifs", "graph_break", "divide_by_sum",
        "roofline_or_latency", "compiler_with_a_graph", "optimal_relu",
    ]  # fmt: skip


def test_every_mistake_names_a_belief_that_is_known():
    known = tomllib.loads((LABS / "misconceptions.toml").read_text(encoding="utf-8"))
    assert {name: found.misconceptions - set(known) for name, found in bank().items() if found.misconceptions - set(known)} == {}
    for found in bank().values():
        if found.options:
            assert any(option.misconception for option in found.options), found.id
            assert all(set(option.misconception) <= ids(found) for option in found.options if not isinstance(option.misconception, str))


def ids(found):
    return {option.id for option in found.options}


@in_groups("name", ALL, lab_of)
def test_every_variant_reads_well_and_has_one_key(drawn, name):
    found = template(name)
    for made in drawn(name)[: None if RELEASE else 30]:
        _reads_well(made)
        {"numeric": _numeric, "choice": _choice, "order": _order, "explain": _explain}[found.kind](found, made)


@cache  # hundreds of variants have the same options and steps
def _fault(text):
    ugly = UGLY.search(NAMES.sub("X", text))
    return faults(text) or (ugly and ugly[0])


def _reads_well(made):
    texts = [made.text, made.working, made.answer, *made.rubric, *(choice.label for choice in made.choices)]
    for text in filter(None, texts):
        assert not _fault(text), (made.template.id, made.seed, text)
    assert (made.text[0].isupper() or not made.text[0].isascii() or not card_words.WORD.match(made.text)) and made.text[-1] in ".?", (
        made.text
    )
    for text in (made.working, *made.rubric):
        assert not text or text[-1] == ".", text


def _numeric(found, made):
    assert math.isfinite(made.key) and made.key != 0
    for mistake in made.mistakes:
        assert math.isfinite(mistake.value)
        # no answer can be both right and the mistake's
        low, high = sorted((abs(made.key), abs(mistake.value)))
        assert high * (1 - found.tolerance) > low * (1 + found.tolerance), (found.id, made.seed, made.key, mistake)
    assert grade(made, made.answer).correct, "the key as it is shown must count as right"


def _choice(found, made):
    ids = [choice.id for choice in made.choices]
    labels = [choice.label for choice in made.choices]
    assert ids.count(made.key) == 1 and len(set(ids)) == len(ids) >= 2 and len(set(labels)) == len(labels)
    assert made.answer == labels[ids.index(made.key)]


def _order(found, made):
    assert sorted(made.key) == sorted(choice.id for choice in made.choices)
    assert len(set(made.key)) == len(made.key) and made.mistaken != made.key
    assert bool(made.mistaken) == bool(found.misconception)


def _explain(found, made):
    assert made.key == "" and len(made.rubric) >= 3 and 1 <= found.enough <= len(made.rubric)


@in_groups("name", [name for name in ALL if bank()[name].draw], lab_of)
def test_figures_are_drawn_afresh(drawn, name):
    made = drawn(name)[:40]
    assert len({(one.text, one.rubric, frozenset(choice.label for choice in one.choices)) for one in made}) > 1


@in_groups("name", ALL, lab_of)
def test_most_draws_make_a_fair_question(name):
    import random

    source, fair, draws = random.Random(name), 0, 100 if RELEASE else 40
    for _ in range(draws):
        try:
            card_variants._variant(template(name), 0, source)
            fair += 1
        except card_variants.Unfit:
            pass
    assert fair >= 0.15 * draws


def test_a_choice_s_answer_is_not_always_the_same():
    """Over its draws at least one choice template per topic has more than one right answer, and options are shuffled."""
    several = {found.topic for found in bank().values() if found.options and len({variant(found, s).key for s in range(60)}) > 1}
    assert {"roofline", "magnitude", "memory", "fusion", "compilation", "serving", "profiling", "dispatch"} <= several
    places = {[c.id for c in made.choices].index(made.key) for made in (variant(template("fusion_pattern"), s) for s in range(40))}
    assert len(places) == 4


def test_the_same_seed_gives_the_same_question():
    assert variant(template("gemm_roof"), 5) == variant(template("gemm_roof"), 5)


# --- against hand counts: what the course says, and plain arithmetic


def made_with(name, **wanted):
    """The first variant with these values drawn."""
    for seed in range(4000):
        made = variant(template(name), seed)
        if all(made.values[key] == value for key, value in wanted.items()):
            return made
    raise AssertionError(f"{name} never draws {wanted}")


def test_hand_counts_of_the_roofline():
    a100 = made_with("ridge_point", device="a100_80gb_sxm", format="fp16")
    assert a100.key == pytest.approx(312e12 / 2039e9)
    assert abs(156 - a100.key) <= a100.template.tolerance * a100.key, "the course's 156, with 2 TB/s, counts as right"
    assert [mistake.value for mistake in a100.mistakes] == pytest.approx([624e12 / 2039e9, 312e12 / 2039e9 / 8])
    relu = made_with("elementwise_intensity", kind="relu", format="fp32")
    assert relu.key == 1 / 8 and relu.mistakes[0].value == 1 / 4
    assert made_with("relu_regime", device="a100_80gb_sxm", kernel="relu").key == "memory"  # 1 FLOP over 8 bytes: 0.125
    assert made_with("relu_regime", device="a100_80gb_sxm", kernel="many terms").key == "compute"  # 800 over 8: 100; 19.5/2.039 is 9.6
    assert made_with("gemm_intensity_square", n=512, format="bf16").key == pytest.approx(2 * 512 / (3 * 2))
    assert made_with("gemm_crossing", device="h100_sxm", format="fp16").key == pytest.approx(1.5 * 2 * 989e12 / 3.35e12)


def test_hand_counts_of_fusion():
    chain = "sigmoid(relu(x * w + b))"
    saved = made_with("tensors_saved", expression=chain)
    counts = "Op by op 6 reads and 4 writes, fused 3 reads and 1 write"
    assert saved.key == 6 and saved.working == f"{counts}, which is a difference of 6 tensors."
    assert made_with("tensors_moved", expression=chain).key == 10  # 6 reads and 4 writes
    assert made_with("tensors_moved", expression=chain).working == "6 reads and 4 writes make 10 tensors."
    assert made_with("tensors_moved_fused", expression=chain).key == 4
    assert made_with("divide_by_sum", shape=(64, 64)).key == "one"
    assert made_with("divide_by_sum", shape=(1024, 768)).key == "more"
    assert made_with("epilogue_saves", shape=(4096, 4096), format="fp16").key == 2 * 4096 * 4096 * 2
    assert made_with("flash_traffic", seq=4096, head=64).key == pytest.approx(4096 / 64 + 1)
    assert made_with("kernels_after_fusion", kinds=("mul", "add", "relu")).answer == "1 kernel"


def test_hand_counts_of_launches_and_compiling():
    assert made_with("utilisation_synchronous", n=1000, kernel=5e-6, launch=10e-6).key == pytest.approx(100 / 3)
    assert made_with("utilisation_queued", n=1000, kernel=5e-6, launch=10e-6).key == pytest.approx(100 * 5000 / 10005)
    assert made_with("half_the_launches", n=1000, kernel=5e-6, launch=10e-6, removed=0.5).key == pytest.approx(50)
    assert made_with("half_the_launches", n=1000, kernel=5e-6, launch=10e-6, removed=0.75).key == pytest.approx(200 / 3)
    assert made_with("breakeven_calls", compile=30.0, eager=1450.0, gain=1.48).key == pytest.approx(30 / (1 / 1450 - 1 / 2146))
    assert made_with("breakeven_time", model="resnet50", per_day=10_000).key / 86400 == pytest.approx(13.36, abs=0.01)
    assert made_with("did_it_help", model="vit_b16", batch=32).key == "slower"
    # by wall time it would be faster, by device time it is not
    assert made_with("did_it_help", model="vit_b16", batch=1).key == "slower"
    assert made_with("strongest_input", gain=1.5).key == "compiled_rate"  # elasticities: e/(c − e) = 2 against 1
    assert made_with("strongest_input", gain=3.0).key == "compile_s"  # 1/2 against 1


def test_only_a_clear_bottleneck_is_asked_for():
    """Two thirds of the time in kernels, and passes back to back no shorter: then the host may be what is late."""
    keys = set()
    for seed in range(60):
        made = variant(template("who_is_late"), seed)
        row = card_expressions.evaluate(f'h200("{made.values["model"]}", {made.values["batch"]}, "eager")', "a test")
        share = row.value("busy_s") / row.value("wall_s")
        assert made.key == ("host" if share < 0.2 else "device") and not 0.2 < share < 0.9, made.text
        keys.add(made.key)
    assert keys == {"host", "device"}


def test_the_largest_of_a_sample_is_a_lower_end_of_a_far_percentile():
    """0.999¹⁵ = 98.5% of fifteen requests stay below P99.9: a lower end, and no upper one."""
    assert {variant(template("both_ends"), seed).key for seed in range(60)} == {"both", "low"}
    assert made_with("both_ends", count=15, level=99.9).key == "low"


def test_a_busy_batcher_has_its_p99_at_1_99_passes():
    made = made_with("two_passes", ms=5, rate=3000)
    played = card_expressions.evaluate("batch_server(3000, {1: 0.005, 256: 0.005}, 256, n=6_000).quantile(0.99)", "a test")
    assert made.key == pytest.approx(9.95e-3)
    assert played == pytest.approx(made.key, rel=0.01)


def test_hand_counts_of_serving():
    token = made_with("kv_per_token", model="llama3_8b", format="fp16")
    assert token.key == 2 * 32 * 8 * 128 * 2 == 131072
    assert token.mistakes[0].value == 4 * token.key
    assert made_with("kv_total", model="llama3_8b", batch=256, context=512).key == 131072 * 256 * 512
    assert made_with("decode_floor", model="llama3_8b", device="h200_sxm").key == pytest.approx(3.13e-3, rel=0.01)  # 15.0 GB over 4.8 TB/s


def test_who_reasons_rightly_about_decode_is_right():
    """The weights are shared by a small batch, so the intensity is near the batch."""
    for seed in range(20):
        made = variant(template("decode_batch"), seed)
        assert grade(made, str(made.values["batch"])).correct


def test_keys_follow_the_registry(monkeypatch):
    """No answer is typed: another bandwidth, another key."""
    before = made_with("ridge_point", device="a100_80gb_sxm", format="fp16")
    from dataclasses import replace

    from ironlaw.claims import NAMESPACE

    changed = replace(machines.hardware("a100_80gb_sxm"), bandwidth=1e12)
    monkeypatch.setitem(NAMESPACE, "hardware", lambda name: changed if name == "a100_80gb_sxm" else machines.hardware(name))
    card_expressions.clear_caches()
    try:
        after = variant(template("ridge_point"), before.seed)
        assert after.key == 312 != before.key and "1 TB/s" in after.text and after.answer == "312 FLOP/B"
    finally:
        card_expressions.clear_caches()


# --- what is refused

GOOD = """
[x]
name = "A card"
lab = "review"
concept = "roofline"
kind = "numeric"
draw.n = [1, 2]
ask = "What is {{ n }} of it?"
key = 'hardware("t4").bandwidth * n'
unit = "B/s"
tolerance = 0.1
wrong = [{ key = 'hardware("t4").bandwidth * n * 8', misconception = "bits_for_bytes" }]
working = "{{ key }}."
"""


def test_the_grammar_s_example_loads(tmp_path):
    (tmp_path / "topic.toml").write_text(GOOD)
    (found,) = load(tmp_path / "topic.toml")
    assert (found.id, found.topic, found.misconceptions) == ("x", "topic", {"bits_for_bytes"})


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('kind = "numeric"', 'kind = "riddle"', "choose one of numeric"),
        ('lab = "review"\n', "", "has no lab"),
        ("tolerance = 0.1", "tolerance = 0", "a tolerance between 0 and 1"),
        ("tolerance = 0.1", "tolerance = 0.1\ntollerance = 2", "unknown key 'tollerance'"),
        ("""key = 'hardware("t4").bandwidth * n'""", "key = '320e9'", "is hard-coded"),
        ("""key = 'hardware("t4").bandwidth * n * 8'""", "key = '42.0'", "is hard-coded"),
        ('kind = "numeric"', 'kind = "choice"\noptions = [{ id = "a", label = "a" }]', "either options with labels"),
    ],
)
def test_a_template_that_breaks_the_grammar_is_refused(tmp_path, old, new, words):
    assert old in GOOD
    (tmp_path / "topic.toml").write_text(GOOD.replace(old, new, 1))
    with pytest.raises(BadRegistry, match=words):
        load(tmp_path / "topic.toml")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("{{ n }} of it", "{{ m }} of it", "no value for the slot 'm'"),
        ("bandwidth * n * 8", "bandwidth * n * 1.05", "no fair question"),
        ('"t4").bandwidth * n\'', '"t4").bandwith * n\'', "cannot compute"),
        ("draw.n = [1, 2]", "draw.n = [1, 2]\nwhen = 'n > 2'", "no fair question"),
    ],
)
def test_a_template_that_cannot_be_asked_says_where(tmp_path, old, new, words):
    assert old in GOOD
    (tmp_path / "topic.toml").write_text(GOOD.replace(old, new, 1))
    (found,) = load(tmp_path / "topic.toml")
    with pytest.raises(BadRegistry, match=rf"topic.toml \[x\].*{words}"):
        variant(found, 0)


def test_expressions_see_nothing_but_the_engine():
    for text in ("open('x')", "__import__('os')", "hardware('t4').__class__"):
        with pytest.raises(BadRegistry):
            card_expressions.evaluate(text, "here")


def test_every_card_has_a_name_for_lists():
    names = [card.name for card in bank().values()]
    assert len(set(names)) == len(names)
    for card in bank().values():
        assert "_" not in card.name and len(card.name) <= 50 and not card.name.endswith("."), card.id
