"""nn.TransformerEncoderLayer in inference runs PyTorch's native operators, and torch.compile leaves them as they are."""

import pytest
import torch
from torch import nn

import ironlaw as il
from ironlaw.engine.device.work import LIBRARY, UNCOMPILED
from ironlaw.tracing.encoder_layers import native, taken


@pytest.fixture(autouse=True)
def fast():
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(True)
    yield
    torch.backends.mha.set_fastpath_enabled(before)


def layer(**settings):
    return nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, **settings)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm_first", [False, True])
def test_the_operators_compute_what_the_layer_does(activation, norm_first):
    torch.manual_seed(0)
    made, x = layer(activation=activation, norm_first=norm_first).eval(), torch.randn(3, 5, 32)
    with torch.no_grad():
        assert taken(made, x)
        torch.testing.assert_close(native(made, x.clone()), made(x), rtol=2e-3, atol=2e-3)  # GELU by its tanh form in the fast path


def test_it_is_taken_in_inference_alone():
    x = torch.randn(3, 5, 32)
    assert not taken(layer(), x)  # trains
    assert not taken(layer().eval(), x)  # gradients are wanted
    with torch.no_grad():
        assert not taken(nn.TransformerEncoderLayer(32, 4, 64).eval(), x)  # sequence first
        assert not taken(layer(bias=False).eval(), x)
        assert not taken(nn.TransformerEncoderLayer(33, 3, 64, batch_first=True).eval(), torch.randn(3, 5, 33))  # an odd number of heads
        assert taken(layer().eval(), x)


def test_nine_operators_that_are_not_compiled():
    graph = il.capture(nn.TransformerEncoder(layer(activation="gelu"), 2, enable_nested_tensor=False).eval(), (torch.randn(3, 5, 32),))
    kinds = [op.kind for op in graph.ops]
    assert kinds == 2 * ["linear", "attention", "linear", "add", "layer_norm", "linear", "linear", "add", "layer_norm"]
    assert all(op.attrs[UNCOMPILED] == LIBRARY for op in graph.ops)
    machine = il.hardware("h200_sxm")
    assert il.predict(graph, machine, il.Plan(mode="compiled")).busy_s == il.predict(graph, machine).busy_s


def test_with_a_mask_the_native_attention_is_two_products_and_a_softmax():
    """So 115 kernels in BF16 and 107 in FP32 for the four layers of events_that_excite_events and what is around them, as on an H200."""
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    graph = il.capture(layer().eval(), (torch.randn(3, 5, 32),), {"src_mask": mask, "is_causal": True})
    kinds = [op.kind for op in graph.ops]
    assert [kinds.count(kind) for kind in ("linear", "bmm", "softmax", "attention", "layer_norm")] == [4, 2, 1, 0, 2]
    assert all(op.attrs[UNCOMPILED] == LIBRARY for op in graph.ops)


def test_who_switches_it_off_gets_the_layer_taken_apart():
    torch.backends.mha.set_fastpath_enabled(False)
    graph = il.capture(layer().eval(), (torch.randn(3, 5, 32),))
    assert not any(op.attrs.get(UNCOMPILED) == LIBRARY for op in graph.ops)
