"""What is asked of a target before it is captured: a class of transformers, its inputs, and what a call that lacks its inputs may take."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from torch import nn  # noqa: E402

from ironlaw.errors import BadValue, MissingExtra  # noqa: E402
from ironlaw.tracing import hugging_face as hf  # noqa: E402
from ironlaw.tracing.capture import capture  # noqa: E402
from ironlaw.tracing.load_target import load  # noqa: E402
from ironlaw.tracing.suggest import check_inputs, required, shape_of, unfed  # noqa: E402
from ironlaw.tracing.target import Target  # noqa: E402


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("BatchEncoding", "hf:BatchEncoding is neither a model nor a configuration; name one, such as hf:LlamaConfig"),
        ("nowhere/config.json", "there is no nowhere/config.json; give a folder with the config.json"),
    ],
)
def test_what_is_no_model_says_so(name: str, words: str):
    with pytest.raises(BadValue, match=words):
        hf.hugging_face(name, {}, None)


def test_a_model_that_does_not_take_its_configuration(monkeypatch: pytest.MonkeyPatch):
    def made(config: Any) -> Any:
        raise ValueError(f"7 is not a multiple of {config.heads}")

    monkeypatch.setattr(hf, "configured", lambda *asked: (SimpleNamespace(heads=12), made))
    with pytest.raises(BadValue, match=r"hf:BertModel can't be built: .*7 is not a multiple of 12.*; check --set, or name a model class"):
        hf.hugging_face("BertModel", {}, None)


def test_a_folder_of_a_kind_that_this_transformers_has_not(tmp_path: Path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "of_next_year"}))
    with pytest.raises(BadValue, match=rf"model_type 'of_next_year', which transformers {transformers.__version__} does not know"):
        hf.hugging_face(str(tmp_path), {}, None)


def test_libraries_that_are_missing(monkeypatch: pytest.MonkeyPatch):
    class Lazy:
        def __getattr__(self, name: str) -> Any:
            raise ImportError("it needs sentencepiece")

    with pytest.raises(BadValue, match=r"hf:OddModel can't be imported: .*it needs sentencepiece; install what it needs"):
        hf.configured(Lazy(), "OddModel", {})
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtra, match="hf: needs transformers; install it with: pip install transformers"):
        hf.hugging_face("LlamaConfig", {}, None)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match="analyze needs PyTorch to read a model; install it with: pip install torch"):
        load("my.py:net")


def test_a_configuration_with_a_head_of_another_kind_or_none():
    class Config:
        pass

    one = SimpleNamespace(_model_mapping={Config: nn.Identity})
    library = SimpleNamespace(__all__=["AutoModelForDepth"], AutoModelForDepth=one, Identity=lambda config: "the head")
    assert hf.model_of(library, Config()) == "the head"
    with pytest.raises(ValueError, match="transformers registers no model for Config; name a model class instead"):
        hf.model_of(SimpleNamespace(__all__=["AutoModelForDepth"], AutoModelForDepth=SimpleNamespace(_model_mapping={})), Config())


def model(forward: Callable[..., Any], main: str) -> Any:
    return SimpleNamespace(forward=forward, main_input_name=main, dtype=torch.float16)


def test_inputs_are_those_of_the_models_main_kind():
    def pairs(input_ids: Any, pixel_values: Any) -> None: ...

    text = SimpleNamespace(max_position_embeddings=77)
    clip = SimpleNamespace(projection_dim=512, text_config=text, vision_config=SimpleNamespace(image_size=[96, 64]))
    args, given = hf.arguments(model(pairs, "input_ids"), clip, 500)
    assert args == () and given["input_ids"].shape == (1, 77) and given["pixel_values"].shape == (1, 3, 96, 64)
    ((sound,), given) = hf.arguments(model(lambda input_values: None, "input_values"), SimpleNamespace(), None)
    assert sound.shape == (1, 16_000) and sound.dtype == torch.float16 and given == {}


class Net(nn.Module):
    def __init__(self, *layers: nn.Module, **more: Any) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        for name, value in more.items():
            setattr(self, name, value)

    def forward(self, x: Any, mask: Any, *, scale: float) -> None: ...


@pytest.mark.parametrize(
    ("net", "shape"),
    [
        (Net(nn.Embedding(9, 2)), "1x128:int64"), (Net(nn.LSTM(5, 2)), "1x128x5"), (Net(nn.MultiheadAttention(6, 2)), "1x128x6"),
        (Net(nn.Dropout(), nn.Linear(7, 2)), "1x7"), (Net(nn.Conv1d(2, 3, 3)), "1x2x16000"), (Net(nn.Conv3d(1, 3, 3)), "1x1x16x16x16"),
        (Net(nn.Conv2d(3, 3, 3)), "1x3x224x224"), (Net(nn.Conv2d(3, 3, 3), img_size=96), "1x3x96x96"),
        (Net(nn.Conv2d(3, 3, 3), default_cfg={"input_size": (3, 48, 48)}), "1x3x48x48"), (Net(nn.Dropout()), ""), (len, ""),
    ],
)  # fmt: skip
def test_a_likely_shape_by_the_first_layer(net: Any, shape: str):
    assert shape_of(net, "x", 0) == shape


def test_a_call_that_lacks_its_inputs_is_told_what_they_may_be():
    target = Target("net", Net(nn.Linear(7, 2)), (), {"scale": 1.0})
    assert required(target) == ["x", "mask"] and required(Target("f", max, (), {})) == []
    with pytest.raises(BadValue, match="net is called without its inputs x and mask; try --input 1x7 --input 1x128:int64, one"):
        check_inputs(target)
    with pytest.raises(BadValue, match="net is called without its input scale; try --input 1x3x224x224 or --input 1x128:int64"):
        check_inputs(Target("net", Net(), (1, 2), {}))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def net():\n    return 3", r"net\(\) gives a int; it should give an nn.Module, or \(module, arguments\)"),
        ("import torch\ndef net():\n    return torch.nn.Identity(), 3", r"net\(\) gives a module with arguments that are not a tuple"),
    ],
)
def test_a_factory_of_something_else(text: str, words: str, tmp_path: Path):
    (tmp_path / "my.py").write_text(text)
    with pytest.raises(BadValue, match=words):
        load(f"{tmp_path / 'my.py'}:net")


def test_inputs_beside_a_model_by_keyword(tmp_path: Path):
    (tmp_path / "my.py").write_text("import torch\nnet = torch.nn.Linear(2, 3)\nnet_inputs = lambda: {'input': torch.ones(4, 2)}\n")
    assert load(f"{tmp_path / 'my.py'}:net").kwargs["input"].shape == (4, 2)


class Chooses(nn.Module):
    """Inputs have defaults, and the model says itself what it lacks."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.out = nn.Embedding(9, 4), nn.Linear(4, 9)

    def forward(self, input_ids: Any = None, scale: Any = None, decoder_input_ids: Any = None, inputs_embeds: Any = None) -> Any:
        for ids in (input_ids, decoder_input_ids):
            if ids is None and inputs_embeds is None:
                raise ValueError("give input_ids or inputs_embeds")
        return self.out(self.words(input_ids) + self.words(decoder_input_ids))


class Asserts(nn.Linear):
    def forward(self, x: Any = None) -> Any:
        assert x is not None, "nothing"
        return super().forward(x)


@pytest.mark.parametrize(
    ("net", "args", "kwargs", "said"),
    [
        (Chooses(), (), {}, "it lacks an input: try --input 1x128:int64, or put net_inputs, a dictionary with input_ids, beside it"),
        (Chooses(), (torch.ones(1, 4).long(),), {}, "lacks an input: put net_inputs, a dictionary with decoder_input_ids, beside"),
        (Chooses(), (), {"input_ids": torch.ones(1, 4).long()}, "put net_inputs, a dictionary with decoder_input_ids, beside it"),
        (Asserts(7, 2), (), {}, "it lacks an input: try --input 1x7, or put net_inputs, a dictionary with x, beside it"),
        (Asserts(7, 2), (torch.ones(1, 3),), {}, "fix the model or its arguments"),
    ],
)  # fmt: skip
def test_a_model_that_looks_at_its_inputs_itself(net: Any, args: Any, kwargs: Any, said: str):
    with pytest.raises(BadValue) as refused:
        capture(net, args, kwargs)
    assert said in str(unfed(Target("net", net, args, kwargs), refused.value))
