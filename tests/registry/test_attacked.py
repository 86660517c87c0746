"""The stored tables of the attacked readers: whole, in order, and a sample of their rows computed again."""

from itertools import pairwise

import numpy as np
import pytest

from ironlaw.errors import BadRegistry
from ironlaw.measure.adversarial import tables
from ironlaw.measure.adversarial.attacks import attack, loss_error, margin_error
from ironlaw.measure.adversarial.readers import reader
from ironlaw.measure.compression.nets import images
from ironlaw.registry.adversarial_tables import (
    ATTACKS,
    EPSILONS,
    FGSM,
    HARDENED,
    MARGIN,
    MASKED,
    NETS,
    PGD,
    PLAIN,
    RESTARTS,
    STEPS,
    attacked,
    drawn,
)
from ironlaw.registry.trained_nets import trained

FEW = 3  # right answers by which two machines may differ in FP32


@pytest.mark.parametrize(
    ("net", "kind", "steps", "epsilon"),
    [(PLAIN, FGSM, 1, 0.1), (PLAIN, PGD, 5, 0.06), (MASKED, PGD, 5, 0.1), (MASKED, MARGIN, 5, 0.1), (HARDENED, PGD, 5, 0.2)],
)
def test_a_row_is_what_the_weights_give_today(net, kind, steps, epsilon):
    (hits,) = tables.hits(net, kind, steps, epsilon, 1)
    assert abs(hits - attacked(net, kind, steps, 1, epsilon).hits) <= FEW


def test_more_of_an_attack_leaves_no_more():
    """Farther never leaves more, and another start never; without reach nothing falls."""
    slack = 4 / trained("digits").tested
    for net, kind, steps, starts in ((n, k, s, r) for n in NETS for k in ATTACKS for s in STEPS for r in RESTARTS):
        shares = [attacked(net, kind, steps, starts, epsilon).value for epsilon in EPSILONS]
        assert all(a + slack >= b for a, b in pairwise(shares)), (net, kind, steps)
        assert shares[0] == attacked(net, FGSM, 1, 1, 0.0).value
        assert attacked(net, kind, steps, 5, 0.1).hits <= attacked(net, kind, steps, 1, 0.1).hits
    for net in (PLAIN, HARDENED):
        assert all(attacked(net, PGD, 20, 1, e).value <= attacked(net, PGD, 1, 1, e).value + slack for e in EPSILONS)


def test_the_clean_answers_are_those_of_the_trained_nets():
    assert attacked(PLAIN, FGSM, 1, 1, 0.0).hits == attacked(MASKED, PGD, 5, 1, 0.0).hits == trained("digits").nets["mlp"]["hits"]
    assert attacked(HARDENED, PGD, 5, 1, 0.0).hits == trained("digits_hardened").nets["mlp"]["hits"]


def test_a_hidden_slope_hides_nothing_from_the_margin():
    blind, seeing = attacked(MASKED, PGD, 50, 5, 0.1).value, attacked(MASKED, MARGIN, 50, 5, 0.1).value
    assert blind > 0.9 and seeing < 0.5 and seeing == attacked(PLAIN, MARGIN, 50, 5, 0.1).value
    assert attacked(HARDENED, PGD, 50, 5, 0.1).value > 2 * attacked(PLAIN, PGD, 50, 5, 0.1).value


def test_attacks_stay_within_reach_and_within_the_shades():
    x, y = images()
    for kind in ATTACKS:
        moved = attack(reader(PLAIN), x[:50], y[:50], 0.1, kind, 1 if kind == FGSM else 5)
        assert np.abs(moved - x[:50]).max() <= 0.1 + 1e-6 and moved.min() >= 0 and moved.max() <= 1
        assert np.array_equal(attack(reader(PLAIN), x[:5], y[:5], 0.0, kind, 1), x[:5].astype(np.float32))


@pytest.mark.parametrize(("error", "value"), [
    (loss_error, lambda z, y: -np.log(np.exp(z)[np.arange(len(y)), y] / np.exp(z).sum(axis=1))),
    (margin_error, lambda z, y: np.where(np.arange(10) == y[:, None], -np.inf, z).max(axis=1) - z[np.arange(len(y)), y]),
])  # fmt: skip
def test_slopes_are_those_of_their_functions(error, value):
    """Against differences of the function itself, in FP64."""
    plain = reader(PLAIN)
    wide = type(plain)(tuple((w.astype(float), b.astype(float)) for w, b in plain.layers))
    x, y = (part[:4] for part in images())
    x = x.astype(float)
    slope, step = wide.back(x, error(y)), 1e-6
    for pixel in (12, 27, 44):
        up, down = x.copy(), x.copy()
        up[:, pixel] += step
        down[:, pixel] -= step
        assert slope[:, pixel] == pytest.approx((value(wide.scores(up), y) - value(wide.scores(down), y)) / (2 * step), rel=1e-3, abs=1e-6)


def test_pictures_are_of_images_that_were_moved():
    x, y = images()
    for net, kind in ((PLAIN, PGD), (HARDENED, MARGIN), (MASKED, FGSM)):
        for one in drawn(net, kind, 0.1):
            assert one.label == y[one.number] and np.abs(np.array(one.shades) - x[one.number]).max() <= 0.1 + 1 / 255
    assert [one.answer for one in drawn(PLAIN, PGD, 0.0)] == [one.label for one in drawn(PLAIN, PGD, 0.0)]


def test_a_setting_that_was_not_computed_is_refused():
    with pytest.raises(BadRegistry, match=r"digits_attacked\.csv has no row plain, pgd, 3"):
        attacked(PLAIN, PGD, 3, 1, 0.1)
