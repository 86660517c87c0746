"""Every place that computes what a text says: nothing runs code, opens a file other than the package's, recurses without end or takes long.
What is refused is refused with a message.

`IRONLAW_ATTACK=full`: 2,000 texts at each place.
"""

import json
import random
import sys
import time
import tomllib
from contextlib import suppress
from importlib import import_module
from itertools import islice

import hostile_expressions as hostile
import pytest
from attack_length import length
from watched_texts import attack, is_soon, odd_values, replaced, watching

from ironlaw.claims import compute, expression_limits
from ironlaw.claims.expressions import evaluate, literals, names
from ironlaw.claims.expressions import figure as claim_figure
from ironlaw.claims.names import NAMESPACE
from ironlaw.classroom import assigned_questions
from ironlaw.engine.privacy import renyi
from ironlaw.engine.serving import sums
from ironlaw.errors import IronlawError
from ironlaw.kit import question_sheet
from ironlaw.recall import card_expressions
from ironlaw.studies.axis import axis
from ironlaw.systems.captures import read_setting
from ironlaw.systems.fields import parameters
from ironlaw.systems.questions.call import Call
from ironlaw.systems.questions.levers import Levers
from ironlaw.systems.questions.privacy import Privacy
from ironlaw.systems.questions.serving import Serving
from ironlaw.systems.questions.slo import Slo
from ironlaw.systems.questions.training_layout import TrainingLayout
from ironlaw.systems.questions.training_memory import TrainingMemory

TRIES = length(75, 2_000)
MOST_CALLS = 1_000_000  # a fifth of a second, about


@pytest.fixture(scope="module", autouse=True)
def everything_is_imported():
    """What a first use imports is neither slow nor a file that an expression opened."""
    for name in NAMESPACE:
        NAMESPACE[name]


def levers(text):
    answer = Levers({"a": 2.0, "x": 3.0}, {"y": text, "z": "y + a"}).answer
    assert answer["values"]


QUESTION = """
[act1]
kind = "number"
key = {key}
tolerance = 0.1
"""


def key_of_a_lab(text, folder):
    """As an instructor's own lab has it: through the file."""
    place = folder / "questions.toml"
    watching.append([])  # the file itself may be opened
    try:
        place.write_text(QUESTION.format(key=json.dumps(text)), encoding="utf-8")
        sheet = question_sheet.load(place)
    finally:
        watching.pop()
    question = sheet.questions["act1"]
    question_sheet.is_hard_coded(question.key)
    _ = question.answer


OPTIONS = [{"id": f"o{value}", "value": value, "label": f"{value}"} for value in (1, 2, 3, 5)]
ASKED = {"title": "A", "asks": "B?", "scale": "log", "options": OPTIONS, "feedback": "C"}
PLACES = {
    "claims": lambda text, folder: (names_or_none(text), compute(text, "here", {"x": 2.0})),
    "claims' figures": lambda text, folder: (evaluate(text, "here", {"x": 2.0}), claim_figure(text, "here", {"x": 2.0})),
    "cards": lambda text, folder: (card_expressions.is_hardcoded(text, ["x"]), card_expressions.evaluate(text, "here", {"x": 2.0})),
    "keys of labs": lambda text, folder: question_sheet.evaluate(text, "here", {"x": 2.0}),
    "a lab's own questions.toml": key_of_a_lab,
    "an assignment's questions": lambda text, folder: assigned_questions.written([{**ASKED, "key": text}], "Week 3", "labs.toml"),
    "levers": lambda text, folder: levers(text),
    "settings of a model": lambda text, folder: read_setting(f"layers={text}"),
}


def names_or_none(text):
    for read in (names, literals):
        with suppress(ValueError):
            read(text)


@pytest.mark.parametrize("place", PLACES)
def test_texts(place, tmp_path, figure):
    canary = tmp_path / "canary"
    inputs = islice(hostile.texts(sum(map(ord, place)), canary), TRIES)
    PLACES[place]("max(1, 2)", tmp_path)
    outcomes = attack(place, lambda text: PLACES[place](text, tmp_path), inputs, canary, figure)
    assert outcomes["refused"] or place == "settings of a model"


# --- values of design files and of a study's axes


@pytest.mark.parametrize("question", [Levers, Slo, Privacy])
def test_design_files(question, tmp_path, figure):
    """One value of a valid design replaced, wherever it is."""
    base = tomllib.loads(import_module(f"ironlaw.cli.{question.__name__.lower()}").DESIGN)
    chance, given = random.Random(4), odd_values(5)
    question.read(base).answer  # noqa: B018 - what a first use imports

    inputs = (replaced(base, chance, given) for _ in range(TRIES))
    attack(
        f"design files, {question.__name__}",
        lambda tables: question.read(tables).answer if isinstance(tables, dict) else None,
        inputs,
        tmp_path / "canary",
        figure,
    )


def test_axes_of_a_study(tmp_path, figure):
    fields = [one for question in (Call, TrainingMemory, TrainingLayout, Serving) for one in parameters(question).values()]
    given, chance = odd_values(6), random.Random(7)
    inputs = ((chance.choice(fields), next(given)) for _ in range(TRIES))
    attack("axes of a study", lambda pair: axis(*pair), inputs, tmp_path / "canary", figure)


@pytest.mark.parametrize(
    "text",
    [
        "poisson(0.8, 99_000)[0]",
        "simulate(poisson(0.8, 30_000), [1.0] * 30_000, 1, 'shortest').mean",
        "[poisson(0.8, 1_000, 1, seed) for seed in [one * ten for one in [1, 2, 3, 4, 5, 6, 7, 8] for ten in [9, 99, 999, 9_999] * 9]]",
        "erlang_c(0.9, 1.0, 200_000)",
        "best_gaussian_step(99_000)",
        "service_chain([service_law('pareto', 0.1, 1.5)] * 99, 0.5).quantile(0.99)",
        "dp_sigma(0.0001, 0.01, 1e12, 1e-300)",
        "dp_sigma(999.0, 0.99, 1e12, 1e-300)",
    ],
)
def test_a_law_takes_no_longer_either(text):
    """Each as much as its limits let through, or refused."""
    begun = time.thread_time()
    with suppress(IronlawError):
        compute(text, "here")
    assert is_soon(time.thread_time() - begun)


def test_what_takes_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(expression_limits, "MOST_S", 0.02)
    with pytest.raises(IronlawError, match=r"more than 0\.02 s of processor time"):
        compute("[levels(8) + factor_per_bit(8, 2) for one in [1] * 200 for two in [1] * 200]", "here")


@pytest.mark.parametrize(
    ("tables", "name"),
    [
        ({"training": {"batch": 256, "noise": 0.01, "epochs": 60, "runs": 1}}, "privacy"),
        ({"promise": {"epsilon": 999.0, "delta": 1e-300}}, "privacy"),
        ({"promise": {"epsilon": 0.004, "delta": 1e-5}}, "privacy"),
        ({"service": [{"name": "a", "p99": "9 ms"}, {"name": "b", "p99": "5 ms", "law": "pareto", "calls": 99, "hedge": 0.9}]}, "slo"),
        ({"service": [{"name": str(place), "p99": f"{place + 1} ms"} for place in range(10)]}, "slo"),
    ],
)
def test_the_slowest_designs(tables, name):
    """Those that took seconds when every service was summed up anew, and every noise was looked for by halving."""
    kind, design = {"slo": Slo, "privacy": Privacy}[name], tomllib.loads(import_module(f"ironlaw.cli.{name}").DESIGN)
    assert kind.read(design).answer  # what it imports is not the design's work
    assert 10_000 < calls_from_nothing(lambda: kind.read({**design, **tables}).answer) < MOST_CALLS


def calls_from_nothing(ask):
    """How many functions an answer calls, with nothing kept from an earlier one: as many on a busy machine."""
    for module in (sums, renyi):
        for kept in filter(lambda each: hasattr(each, "cache_clear"), vars(module).values()):
            kept.cache_clear()
    made = [0]

    def count(frame, event, argument):
        made[0] += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        assert ask()
    finally:
        sys.setprofile(before)
    return made[0]


def test_a_chain_of_too_many_services_is_refused():
    design = tomllib.loads(import_module("ironlaw.cli.slo").DESIGN)
    with pytest.raises(IronlawError, match="11 services; give at most 10"):
        Slo.read({**design, "service": [{"name": str(place), "p99": "5 ms"} for place in range(11)]})


@pytest.mark.parametrize(
    ("formulas", "dials"),
    [
        ({"r": " + ".join(f"privacy(x / {part + 9}, {part + 90}, 9e3, 1e-9)" for part in range(40))}, {}),
        ({"r": "privacy(x, 90, 9e3, 1e-9)"}, {"x": [1 / (part + 9) for part in range(900)]}),
        ({f"f{place}": "+".join(["x"] * 900) for place in range(90)}, {}),
    ],
)
def test_levers_with_too_much_to_do_are_refused(formulas, dials):
    begun = time.thread_time()
    with pytest.raises(IronlawError, match=r"steps to work out, and 400,000 is the most|more than 10,000 characters"):
        Levers({"x": 0.3, "y": 2.0}, formulas, {"x": {"most": 0.1}} if dials else None, dials).answer  # noqa: B018
    assert is_soon(time.thread_time() - begun)


def test_a_promise_that_is_none_is_refused():
    """It took a quarter of a minute to find the noise that just keeps ε ≤ 1e30."""
    base = tomllib.loads(import_module("ironlaw.cli.privacy").DESIGN)
    with pytest.raises(IronlawError, match=r"1e\+30|1000000000000000019884624838656|1,000"):
        Privacy.read({**base, "promise": {**base["promise"], "epsilon": 1e30}})
