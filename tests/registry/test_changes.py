"""registry/changes.toml: words for every change that the engine tries, and no others."""

import pytest

import ironlaw as il
from ironlaw.engine.advice.action import GROUPS
from ironlaw.engine.advice.advise import advise
from ironlaw.engine.advice.program import Sources
from ironlaw.errors import BadRegistry
from ironlaw.registry.program_changes import change_words, load

TITLED_BY_PROGRAM = {"kernel", "batch", "machine"}


def test_every_change_has_a_title_and_a_way_to_do_it():
    words = change_words()
    assert {change for change, one in words.items() if one.title and one.how} == set(GROUPS) - TITLED_BY_PROGRAM
    assert len({one.title for one in words.values() if one.title}) == len(GROUPS) - len(TITLED_BY_PROGRAM)


def test_a_narrower_format_says_what_it_loses():
    assert {change for change, one in change_words().items() if one.loses} == {"tf32", "fp16", "fp8", "int8", "int4", "autocast", "scaled"}


def test_without_words_a_change_goes_by_its_id():
    graph, machine = il.workload("resnet50", batch=8, dtype="fp16"), il.hardware("h200_sxm")
    (action,) = (one for one in advise(Sources(graph), il.predict(graph, machine)).actions if "graphs" in one.changes)
    assert action.title == "graphs" and action.how == ""


@pytest.mark.parametrize("text", ['[faster]\ntitle = "x"', '[fp16]\nname = "x"', "[fp16]\ntitle = 3"])
def test_what_nobody_reads_is_refused(tmp_path, text):
    path = tmp_path / "changes.toml"
    path.write_text(text)
    with pytest.raises(BadRegistry, match=r"changes\.toml"):
        load(path)
