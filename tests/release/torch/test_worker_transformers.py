"""A model of transformers, captured in a process of its own and in this one; tests/torch/test_capture_job.py does so with a file."""

from __future__ import annotations

import argparse

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
from ironlaw.engine.device.stored_weights import OWN
from ironlaw.systems.captures import capture_all
from ironlaw.tracing import capture_job

SMALL = {"num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4, "vocab_size": 100}


def test_a_model_of_transformers_from_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    args = argparse.Namespace(
        target="hf:LlamaConfig", input=[], batch=None, dtype=None, seq=16, training=False, set=[*SMALL.items()], limit=60.0, weights=(OWN,)
    )
    apart = capture_all(args)
    monkeypatch.setattr("ironlaw.worker.run", lambda job, request, *, on_part, **more: capture_job.job(request, on_part))
    assert apart == capture_all(args) and [growth.what for growth in apart.growths] == ["batch", "tokens"]
