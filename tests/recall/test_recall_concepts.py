"""The concept map, mastery, the checklist and the prompts."""

from pathlib import Path

import pytest

from ironlaw.errors import BadRegistry, UnknownName
from ironlaw.recall import checklist, concepts, record
from ironlaw.recall.card_templates import templates as bank
from ironlaw.recall.concepts import card_mastery, concept_map, mastery

LABS = Path(concepts.HERE).parent / "labs"


def neighbours(found):
    around = {name: set() for name in found.concepts}
    for edge in found.edges:
        around[edge.source].add(edge.target)
        around[edge.target].add(edge.source)
    return around


def test_the_map_is_connected():
    found = concept_map()
    around, seen, todo = neighbours(found), set(), ["why"]
    while todo:
        at = todo.pop()
        if at not in seen:
            seen.add(at)
            todo += around[at]
    assert seen == set(found.concepts)
    assert len({(edge.source, edge.target) for edge in found.edges}) == len(found.edges)


def test_all_but_the_first_follow_from_another():
    """The outline of a narrow screen hangs each below one that leads to it."""
    map_ = concept_map()
    assert [name for name in map_.concepts if name not in {edge.target for edge in map_.edges}] == ["why"]


def test_every_card_belongs_to_a_concept_and_every_concept_has_cards_or_is_to_come():
    found = concept_map()
    assert {name: card.concept for name, card in bank().items() if card.concept not in found.concepts} == {}
    assert sum(len(concept.cards) for concept in found.concepts.values()) == len(bank())
    bare = {name for name, concept in found.concepts.items() if not concept.cards}
    assert bare == {"why", "hardware", "software"}, "they only lead to others"
    assert not any(concept.planned for concept in found.concepts.values())


def test_every_lab_that_is_named_exists():
    named = {concept.lab for concept in concept_map().concepts.values() if not concept.planned} | {card.lab for card in bank().values()}
    assert named == {path.parent.name for path in LABS.glob("[!_]*/lab.py")}
    for lab in named - {"review"}:
        assert (LABS / lab / "questions.toml").is_file(), lab


def test_the_three_marked_paths_follow_edges():
    found = concept_map()
    around = neighbours(found)
    assert {way.id: [at for at, _ in way.steps] for way in found.paths} == {
        "hardware_to_software": ["balance", "roofline", "fusion", "graph"],
        "measurement": ["profiling", "iron_law", "roofline", "fusion", "profiling"],
        "abstraction": ["eager", "capture", "ir", "passes", "codegen"],
    }
    for way in found.paths:
        for (a, _), (b, _) in zip(way.steps, way.steps[1:], strict=False):
            assert b in around[a], (way.id, a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("why", "hardware"), ("why", "software"), ("hardware", "architecture"), ("hardware", "memory"), ("hardware", "balance"),
        ("memory", "hbm"), ("memory", "l2"), ("memory", "sram"), ("memory", "registers"), ("architecture", "roofline"),
        ("memory", "roofline"), ("balance", "roofline"), ("software", "eager"), ("software", "graph"), ("software", "fusion"),
        ("eager", "dispatcher"), ("eager", "overhead"), ("graph", "capture"), ("fusion", "capture"), ("capture", "trace"),
        ("capture", "script"), ("capture", "fx"), ("capture", "dynamo"), ("roofline", "fusion"), ("capture", "fusion"),
        ("fusion", "profiling"),
    ],
)  # fmt: skip
def test_the_course_s_edges_are_there(a, b):
    assert b in concept_map().below(a)


def test_the_days_of_the_course():
    days = {name: concept.days for name, concept in concept_map().concepts.items()}
    assert (days["architecture"], days["memory"], days["roofline"], days["profiling"], days["eager"], days["fusion"]) == (
        "1–3", "4–5", "6–7", "8–11", "12", "13",
    )  # fmt: skip


def test_a_map_with_a_hole_is_refused(tmp_path):
    (tmp_path / "m.toml").write_text('[concept.a]\nlabel = "A"\ndefinition = "a"\nlab = "review"\n[[edge]]\nfrom = "a"\nto = "b"\n')
    with pytest.raises(UnknownName, match="no concept 'b'"):
        concepts.load(tmp_path / "m.toml")
    (tmp_path / "m.toml").write_text('[concept.a]\nlabel = "A"\ndefinition = "a"\n')
    with pytest.raises(BadRegistry, match="names no lab"):
        concepts.load(tmp_path / "m.toml")


# --- mastery


def test_mastery_is_retrievability_times_correctness(session, say, clock):
    for correct in (False, True, True, False):
        say("ridge_point", correct, 3)
        clock.move(days=2)
    stands = session.state().standing["ridge_point"]
    assert 0 < stands.retrievability < 1
    assert card_mastery(stands) == pytest.approx(stands.retrievability * 2 / 3), "of the last three, two were right"
    assert card_mastery(session.state().standing["gemm_roof"]) == 0


def test_a_concept_s_mastery_is_the_mean_over_its_cards(session, say):
    l2 = concept_map().concept("l2")
    assert l2.cards == ("l2_ridge",)
    say("l2_ridge", True, 4)
    say("kv_total", True, 4)
    known = mastery(session.state().standing)
    assert known["l2"] == pytest.approx(1 / 3), "one right answer, a moment ago, is not everything"
    assert known["kv_cache"] == pytest.approx(1 / 3 / len(concept_map().concept("kv_cache").cards))
    assert known["roofline"] == known["codegen"] == known["ir"] == 0, "never answered"
    say("tensor_bytes", True, 4)
    known = mastery(session.state().standing)
    led_to = [known[name] for name in concept_map().below("hardware")]
    assert 0 < known["hardware"] == pytest.approx(sum(led_to) / len(led_to)), "a concept without cards takes the mean of those it leads to"


def test_forgetting_lowers_mastery(session, say, clock):
    say("l2_ridge", True, 4)
    before = session.state().mastery["l2"]
    clock.move(days=60)
    assert 0 < session.state().mastery["l2"] < before


# --- the checklist


def test_ten_statements_backed_by_cards():
    sheet = checklist.sheet()
    assert list(sheet.statements) == [
        "read_a_trace", "read_generated_code", "derive_ridge", "classify_op", "count_traffic", "plan_fusion", "predict_utilisation",
        "compute_breakeven", "explain_graph_break", "size_kv_cache",
    ]  # fmt: skip
    assert all(statement.cards and set(statement.cards) <= set(bank()) for statement in sheet.statements.values())
    assert len(sheet.prompts) == 5


@pytest.mark.parametrize(
    ("points", "label"),
    [(10, "All ten"), (9, "Minor gaps"), (8, "Minor gaps"), (7, "Weak areas"), (5, "Weak areas"), (4, "Not yet"), (0, "Not yet")],
)
def test_bands(points, label):
    assert checklist.band(points).label == label and checklist.band(points).action
    assert len({band.action for band in checklist.sheet().bands}) == 4


def test_a_claim_is_laid_beside_the_record(session, ledger, say):
    record.tick(ledger, "derive_ridge", True)
    record.tick(ledger, "read_generated_code", True)
    record.tick(ledger, "read_generated_code", False)
    for card in 2 * ("read_generated_code", "launches_saved", "compiler_pipeline"):
        say(card, True, 4)
    say("ridge_point", True, 4)
    claims = {claim.statement.id: claim for claim in session.state().claims}
    ridge, code = claims["derive_ridge"], claims["read_generated_code"]
    assert (ridge.ticked, ridge.cards_answered, ridge.gap) == (True, 1, "unbacked")
    assert ridge.mastery == pytest.approx(1 / 3 / 3)
    assert (code.ticked, code.mastery, code.gap) == (False, pytest.approx(2 / 3), "modest")
    assert claims["size_kv_cache"].gap == ""
    assert checklist.score(record.ticks(session.state().events)) == 1
    weak = checklist.weak_concepts(session.state().claims)
    assert "roofline" in weak and "kv_cache" in weak and len(set(weak)) == len(weak)


def test_a_statement_that_was_taken_out_counts_for_nothing():
    assert checklist.score({"no_longer": True, "derive_ridge": True}) == 1


def test_unknown_statements_and_prompts_are_told():
    with pytest.raises(UnknownName, match="derive_ridge"):
        checklist.sheet().statement("derive_rigde")
    with pytest.raises(UnknownName, match="surprise"):
        checklist.sheet().prompt("suprise")


def test_the_map_covers_every_lab_and_begins_with_all_of_them():
    """Its root was “Why ML compilers”."""
    every = concepts.concept_map()
    labs = {path.parent.name for path in LABS.glob("lab_*/lab.py")}
    assert {concept.lab for concept in every.concepts.values()} >= labs
    reached, waiting = set(), ["why"]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += every.below(name)
    assert {concept.lab for name, concept in every.concepts.items() if name in reached} >= labs
    assert "compiler" not in every.concept("why").label
