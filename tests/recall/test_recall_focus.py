"""What a learner calls shaky comes next."""

import pytest

from ironlaw.recall import focus, record
from ironlaw.recall.card_templates import template
from ironlaw.recall.concepts import concept_map


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("The roofline. Why is the ridge where it is?", {"roofline"}),
        ("graph breaks: what is a guard?", {"dynamo"}),
        ("I never get the KV cache right.", {"kv_cache"}),  # and not caches in general
        ("What XLA does after capture", {"passes", "capture"}),
        ("nsight", {"profiling"}),
        ("Registers and occupancy", {"registers"}),
        ("roofliner, prefused, launchpad", set()),
        ("", set()),
    ],
)
def test_concepts_are_recognised_by_their_names(text, named):
    assert {concept.id for concept in focus.concepts({"shaky": text})} == named


def test_only_the_prompt_about_it_counts():
    assert focus.cards({"surprise": "the roofline"}) == frozenset()


def test_a_topic_and_a_concept_without_cards_have_cards_too():
    assert all(template(card).topic == "serving" for card in focus.cards({"shaky": "serving"})) and focus.cards({"shaky": "serving"})
    below = concept_map().below("hardware")
    assert {template(card).concept for card in focus.cards({"shaky": "hardware constraints"})} <= set(below)


def test_its_new_cards_come_first_and_say_why(session, ledger, say):
    assert session.queue()[0].reason == "new"
    record.save_text(ledger, "shaky", "KV caches. How large are they?")
    about = [card for card in session.queue() if card.reason == "shaky"]
    assert {card.template.concept for card in about} == {"kv_cache"}
    assert session.queue()[: len(about)] == about
    say("kv_total", False, 5, "bits_for_bytes")
    say("tensor_bytes", False, 5, "bits_for_bytes")
    reasons = [card.reason for card in session.queue()]
    assert reasons == sorted(reasons, key=("confident error", "due", "belief held", "shaky", "new").index)
    record.save_text(ledger, "shaky", "Fusion, after all.")
    assert {card.template.concept for card in session.queue() if card.reason == "shaky"} == {"fusion"}


def test_the_page_says_what_follows():
    assert focus.says({}) == "" and focus.says({"shaky": " "}) == ""
    assert focus.says({"shaky": "the roofline"}) == "Your next focus: Roofline. New cards about it come first."
    assert "name a concept" in focus.says({"shaky": "everything"})
