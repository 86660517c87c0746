"""Whether the loader is fast enough is said in the verdict."""

import pytest

import ironlaw as il
from ironlaw.cli.show import verdict_text
from ironlaw.errors import BadValue
from ironlaw.report.loader_words import read_rate
from ironlaw.report.sections.verdict_section import actions


def test_a_slow_loader_starves_the_gpu(capsys: pytest.CaptureFixture[str]):
    found = il.analyze("resnet50", on="h200", batch=64, loader="850/s")
    needs = 64 / found.predictions[0].seconds
    assert f"starves for {1 - 850 / needs:.0%} of the time" in found.verdict.finding
    assert found.to_dict()["verdict"]["finding"] == found.verdict.finding
    assert found.verdict.actions and "What to do once the loader keeps up" in actions(found.verdict)
    verdict_text.report(found.verdict)
    assert "what to change once the loader keeps up, in order" in capsys.readouterr().out


def test_a_fast_one_does_not():
    fast = il.analyze("resnet50", on="h200", batch=64, loader=1e6).verdict
    assert "fast enough" in fast.finding and not fast.when
    assert "loader" not in il.analyze("resnet50", on="h200", batch=64).verdict.finding


def test_rates_are_read_and_refused():
    assert read_rate("850/s") == read_rate(850) == 850
    for wrong in ("fast", "-3/s", 0):
        with pytest.raises(BadValue):
            read_rate(wrong)


def test_a_call_without_a_batch_says_what_to_give():
    graph = il.workload("mlp8_1024", batch=8)
    alone = il.Graph(graph.name, graph.ops, graph.dtype)
    with pytest.raises(BadValue, match="--batch"):
        _ = il.analyze(alone, on="h200", loader=10).verdict
