"""The corpus' catalogue by its rules, and coverage of a captured model."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))


def test_of_a_family_the_first_the_last_and_some_between():
    from corpus.timm_models import spread

    assert spread(["a"]) == ["a"] and spread(["a", "b"]) == ["a"]  # ⌈√2 / 1.5⌉ = 1
    assert spread(list(range(9))) == [0, 8]
    assert spread(list(range(132))) == [0, 19, 37, 56, 75, 94, 112, 131]


def test_a_library_that_is_not_there_is_named(capsys, monkeypatch):
    from corpus import catalogue

    monkeypatch.setattr(catalogue, "find_spec", lambda name: None)
    assert catalogue.entries.__wrapped__(("timm",)) == []
    assert "timm is not installed" in capsys.readouterr().err


def test_a_loss_is_the_models_own_or_the_sum_of_what_it_returns():
    from corpus import catalogue

    w = torch.ones(3, requires_grad=True)
    assert catalogue.loss({"loss": w.sum() * 2, "logits": w}).item() == 6.0
    assert catalogue.loss(SimpleNamespace(loss=w.sum())).item() == 3.0
    assert catalogue.loss((w * 2, [w * 3])).item() == 15.0
    with pytest.raises(ValueError, match="nothing to train"):
        catalogue.loss(torch.ones(2))


def test_no_weight_stays_at_zero():
    from corpus import catalogue

    model = torch.nn.Linear(8, 8)
    torch.nn.init.zeros_(model.weight)
    with torch.no_grad():
        model.bias.fill_(float("nan"))
    catalogue.fill(model)
    assert all(p.any() and p.isfinite().all() for p in model.parameters())


def test_beside_a_model_on_meta_ids_keep_their_values():
    from corpus import catalogue

    given = {"x": torch.randn(2, 3), "ids": torch.tensor([3, 1]), "flag": True}
    told = catalogue.moved(given, "meta", torch.float16)
    assert told["x"].is_meta and told["x"].dtype == torch.float16
    assert told["ids"].tolist() == [3, 1] and told["flag"] is True


def test_captured_ops_are_counted_by_signature(monkeypatch):
    from corpus import capture as corpus_capture
    from corpus import catalogue
    from corpus.entry import Entry

    model = torch.nn.Sequential(*(torch.nn.Linear(16, 16) for _ in range(3)), torch.nn.ReLU())
    monkeypatch.setattr(catalogue, "made", lambda *_: model)
    monkeypatch.setattr(catalogue, "call", lambda *_, **way: ((torch.randn(4, 16),), {}))
    told = corpus_capture.captured(Entry("timm", "tiny", "image", 8), "eager")
    assert [(row[0], row[-1]) for row in told["signatures"]] == [("linear", 1), ("linear", 2), ("relu", 1)]  # one reads the input
    assert told["ops"] == 4 and told["params"] == 3 * (16 * 16 + 16)


def test_a_model_that_refuses_the_usual_call_is_called_in_another_way(monkeypatch):
    from corpus import capture as corpus_capture
    from corpus import catalogue
    from corpus.corpus_table import state
    from corpus.entry import Entry

    model, entry = torch.nn.Linear(16, 16), Entry("timm", "tiny", "image", 8)
    monkeypatch.setattr(catalogue, "made", lambda *_, **limits: model)
    monkeypatch.setattr(catalogue, "call", lambda *_, **way: ((torch.randn(4, way.get("wide", 8)),), {}))
    monkeypatch.setattr(catalogue, "ways", lambda entry: [{}, {"wide": 4}, {"wide": 16}])
    told = corpus_capture.captured(entry, "eager")
    assert told["way"] == {"wide": 16} and told["ops"] == 1
    monkeypatch.setattr(catalogue, "ways", lambda entry: [{}])
    monkeypatch.setattr(catalogue, "of", lambda library: SimpleNamespace(make=lambda entry, largest: model))
    told = corpus_capture.captured(entry, "eager")
    assert "mat1 and mat2" in told["plain"] and state(told) == "refused"  # PyTorch itself refuses it
    assert state(told | {"plain": "runs"}) == "not captured"  # it is our call that fails
    assert state(told | {"plain": "too large to try"}) == "unchecked"


def test_a_model_that_fails_says_where(monkeypatch):
    from corpus import capture as corpus_capture
    from corpus import catalogue
    from corpus.entry import Entry

    def broken(*_):
        raise RuntimeError("no such layer")

    monkeypatch.setattr(catalogue, "made", broken)
    told = corpus_capture.captured(Entry("timm", "tiny", "image", 8), "eager")
    assert told["stage"] == "build" and "no such layer" in told["error"]


def test_coverage_of_ones_own_model(tmp_path, capsys):
    import json

    from ironlaw.cli import main

    (tmp_path / "net.py").write_text("import torch\nnet = torch.nn.Linear(4096, 4096).half()\n")
    assert main(["coverage", f"{tmp_path / 'net.py'}:net", "--input", "4096x4096:fp16", "--on", "h200", "--batch", "4096,3", "--json"]) == 0
    square, few = json.loads(capsys.readouterr().out)["machines"]
    assert square["operators"] == 1 and square["shares"]["inside"] == pytest.approx(1.0)  # a size that was measured
    assert (square["batch"], few["batch"], few["operators"]) == (4096, 3, 1)


def test_the_page_keeps_tables_of_runs_that_were_not_made_again(tmp_path):
    from corpus.corpus_table import write_table

    page, one = tmp_path / "corpus.md", {"library": "timm", "model": "resnet18"}
    write_table([{**one, "run": "training"}], page)
    for _ in range(2):
        write_table([{**one, "run": "eager"}], page)
        titles = [line for line in page.read_text().splitlines() if line.startswith("## ")]
        assert titles == ["## Inference, larger batch", "## Training step, of an earlier run"]
        assert page.read_text().count("| timm | 1 | 1 |") == 2
    write_table([{**one, "run": "training"}], page)
    assert "## Training step\n" in page.read_text()
