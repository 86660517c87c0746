"""A few captured models against the H200's measurements of them; tests/release/torch/test_whole_zoo.py takes all."""

import warnings

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
from captured_zoo import check, compare

from ironlaw.compare import Comparison, speedups

# of each kind one with few operators: words, pictures, sound, convolutions, plain layers, a training step
FEW = {
    "OPTForCausalLM", "ElectraModel", "DistilBertModel", "StableLmForCausalLM", "DeiTModel", "MobileNetV2Model", "SegformerModel",
    "whisper_tiny_encoder", "unet_attention_block", "transformer_encoder", "mlp", "ViTForImageClassification",
}  # fmt: skip


@pytest.fixture(scope="module")
def found() -> list[Comparison]:
    with warnings.catch_warnings():
        return compare(FEW)


def test_device_time_and_kernels_of_models_never_fitted_to(found: list[Comparison]) -> None:
    check([gap for gap in found if gap.mode == "eager"], 15, 0.10)
    check([gap for gap in found if gap.mode == "compiled"], 8, 0.10)
    check([gap for gap in found if gap.mode == "training"], 1, 0.10)


def test_what_compiling_brings(found: list[Comparison]) -> None:
    brought = speedups(found)
    assert len(brought) >= 7 and all(abs(one.error) < 0.25 for one in brought), brought
