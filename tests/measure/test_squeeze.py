"""The digit reader squeezed: grids by hand, rescaling that changes nothing, divergences by SciPy. PyTorch runs its
convolutions in tests/torch/test_squeezed_net.py."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from ironlaw.engine.numerics.grids import noise_power
from ironlaw.errors import BadValue, UnknownName
from ironlaw.measure.compression import Layer, Net, compare, damage, images, load, logits, prune, quantise, rescale, to_half, with_weights
from ironlaw.registry.trained_nets import trained

NETS = tuple(trained("digits").nets)
VALUES = hnp.arrays(np.float32, (5, 12), elements=st.floats(-4, 4, width=32))


@pytest.mark.parametrize("name", NETS)
def test_each_net_answers_as_it_did_when_it_was_trained(name):
    """PyTorch counted the hits and parameters; NumPy runs the net."""
    net, about = load(name), trained("digits").nets[name]
    result = damage(net, net)
    assert (result.accuracy.hits, net.weights + net.biases) == (about["hits"], about["parameters"])
    assert (result.kl, result.flips, result.accuracy.trials) == (0.0, (), 797)


def test_grids_by_hand():
    values = np.array([[-1.0, -0.4, 0.26, 0.8], [10.0, 2.0, -4.9, 5.1]], np.float32)
    assert quantise(values, 2, "channel").tolist() == [[-1, 0, 0, 1], [10, 0, 0, 10]]  # −max, 0, max of each row
    assert quantise(values, 2, "tensor").tolist() == [[0, 0, 0, 0], [10, 0, 0, 10]]
    assert quantise(values, 2, 2).tolist() == [[-1, 0, 0, pytest.approx(0.8)], [10, 0, pytest.approx(-5.1), pytest.approx(5.1)]]
    assert quantise(values, 3, 3).shape == values.shape  # groups that do not fill a row
    shifted = np.array([[0.0, 1.0, 2.0, 3.0]], np.float32)
    assert quantise(shifted, 2, "channel", symmetric=False).tolist() == shifted.tolist()  # four codes, four values
    assert quantise(shifted, 2, "channel").tolist() == [[0, 0, 3, 3]]
    assert quantise(np.zeros((2, 3)), 4).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert prune(np.array([[3.0, -1.0], [0.5, -2.0]]), 0.5).tolist() == [[3, 0], [0, -2]]
    assert to_half(np.array([1 / 3], np.float32))[0] == np.float32(np.float16(1 / 3))


@given(
    VALUES, st.integers(2, 8), st.sampled_from(["tensor", "channel", 4, 5]), st.sampled_from(["max", "best", "percentile"]), st.booleans()
)
def test_what_is_rounded_is_on_few_levels_and_best_is_best(values, bits, scale, clip, symmetric):
    on_grid = quantise(values, bits, scale, clip, symmetric)
    assert on_grid.shape == values.shape and on_grid.dtype == values.dtype
    if scale == "channel":
        assert all(len(np.unique(row)) <= 2**bits - symmetric for row in on_grid)
    best, widest = (np.sum((quantise(values, bits, scale, how, symmetric) - values) ** 2) for how in ("best", "max"))
    assert best <= widest * (1 + 1e-5) + 1e-9


def test_noise_of_even_weights_is_the_theorys():
    values = np.random.default_rng(0).uniform(-1, 1, (4, 50_000))
    values[:, 0] = 1.0
    for bits in (3, 6):
        assert np.mean((quantise(values, bits, "channel") - values) ** 2) == pytest.approx(noise_power(bits), rel=0.01)


@pytest.mark.parametrize("name", ["mlp", "ds_cnn"])
@pytest.mark.parametrize("spread", [3, 30, 100])
def test_rescaling_changes_the_weights_and_not_the_function(name, spread):
    net, x = load(name), images()[0]
    other = rescale(net, spread, seed=1)
    assert np.abs(logits(other, x) - logits(net, x)).max() < 1e-4
    first, scaled = net.layers[0].weight, other.layers[0].weight
    assert np.abs(scaled / first - 1).max() > 1
    # each row carries its factor in its own scale: per channel nothing changes in the first layer but the last bit
    factors = (other.layers[0].bias / net.layers[0].bias).reshape(-1, *[1] * (first.ndim - 1))
    assert quantise(scaled, 8, "channel") == pytest.approx(quantise(first, 8, "channel") * factors, rel=1e-4, abs=1e-5)
    assert rescale(net, 1.0).layers[0].weight == pytest.approx(first)


@given(hnp.arrays(np.float64, (6, 4), elements=st.floats(-8, 8)), hnp.arrays(np.float64, (6, 4), elements=st.floats(-8, 8)))
def test_divergence_is_scipys_never_negative_and_flips_are_disagreements(before, after):
    result = compare(before, after, np.zeros(6, int))
    p, q = (np.exp(z) / np.exp(z).sum(1, keepdims=True) for z in (before, after))
    assert result.kl == pytest.approx(np.mean([stats.entropy(a, b) for a, b in zip(p, q, strict=True)]), abs=1e-9)
    assert result.kl >= 0
    assert set(result.flips) == {(i, after[i].argmax()) for i in np.nonzero(before.argmax(1) != after.argmax(1))[0]}
    assert compare(before, before + 3.0, np.zeros(6, int)).kl == pytest.approx(0.0, abs=1e-12)


def test_scales_where_the_spread_is():
    """The same function in INT8: one scale a tensor ends at chance, one a channel stays. The lab's second question hangs on it."""
    wide = rescale(load("mlp"), 100)
    one, each = (damage(load("mlp"), with_weights(wide, lambda w, s=scale: quantise(w, 8, s))) for scale in ("tensor", "channel"))
    assert one.accuracy.value < 0.13 and each.accuracy.value > 0.8


def test_mistakes_are_named():
    with pytest.raises(UnknownName, match="best"):
        quantise(np.ones((2, 2)), 4, clip="bst")
    with pytest.raises(UnknownName, match="channel"):
        quantise(np.ones((2, 2)), 4, "chanel")
    with pytest.raises(BadValue, match="below 1"):
        prune(np.ones((2, 2)), 1.0)
    with pytest.raises(BadValue, match=r"0\.5 is not a valid spread"):
        rescale(load("mlp"), 0.5)
    with pytest.raises(UnknownName, match="mlp"):
        load("mlpp")
    net = Net("own", (Layer("linear", np.eye(64, dtype=np.float32)[:10], np.zeros(10, np.float32)),))
    assert damage(net, replace(net, layers=net.layers)).kl == 0.0  # a net of one's own is compared with itself
