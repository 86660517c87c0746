"""Act I's words: the truth, the distance, and the slots of every section, for the prediction's own case."""

from __future__ import annotations

from itertools import pairwise

from ironlaw import kit
from ironlaw.engine.numerics.clipping import best_gaussian_step, gaussian_noise
from ironlaw.engine.numerics.decay import decay
from ironlaw.engine.numerics.grids import factor_per_bit, levels, noise_power, sqnr_db, step
from ironlaw.engine.numerics.storage import stored_bits
from ironlaw.labs.lab_10_frontier import llama
from ironlaw.labs.lab_10_frontier.act1.setting import FIRST, LAST, Setting, tested
from ironlaw.registry.compression_tables import at_bits
from ironlaw.registry.trained_nets import trained
from ironlaw.units import significant


def right_share(hits: int) -> str:
    return kit.amount(100 * hits / tested(), "%")


def factor(value: float) -> str:
    return f"×{significant(value)}"


def lock() -> dict[str, object]:
    return {"first": FIRST, "last": LAST, "parameters": f"{trained('digits').nets['mlp']['parameters']:,}", "images": tested()}


def truth(lab: kit.Lab) -> str:
    return factor(float(lab.question("act1").answer))


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act1")
    return kit.Distance(float(option.value), float(lab.question("act1").answer)).words if option else ""


def _llama() -> float:
    table = [(llama.bits(row), float(cells["kl"])) for row, cells in llama.rows().items() if "_K" in row and "imatrix" not in row]
    return decay([bits for bits, _ in table], [kl for _, kl in table]).factor


def reveal() -> dict[str, object]:
    plain = Setting()
    wide = Setting(scale="tensor", spread=100)
    return {
        "theory": factor(factor_per_bit(FIRST, LAST)), "net": factor(plain.factor), "cnn": factor(Setting("ds_cnn").factor),
        "llama": factor(_llama()), "first": FIRST, "last": LAST, "whole": factor(noise_power(LAST) / noise_power(FIRST)),
        "eight": right_share(plain.at(8).hits), "four": right_share(plain.at(4).hits), "three": right_share(plain.at(3).hits),
        "two": right_share(plain.at(2).hits), "spread": wide.spread, "tensor": right_share(wide.answers.hits),
        "channel": right_share(Setting(spread=100).answers.hits), **single_bits(),
    }  # fmt: skip


def single_bits() -> dict[str, object]:
    """The cheapest and the dearest bit of the reader, from eight bits down to two."""
    divergence = [Setting().at(bits).kl for bits in range(8, 1, -1)]
    costs = [after / before for before, after in pairwise(divergence)]
    return {"least": factor(min(costs)), "most": factor(max(costs))}


def feedback(lab: kit.Lab) -> dict[str, object]:
    return {"levels": levels(8), "fewer": levels(7), **single_bits()}


def reflection() -> dict[str, object]:
    one, each, group = (at_bits("mlp", 100, 8, scale).hits for scale in ("tensor", "channel", "16"))
    return {
        "full": right_share(at_bits("mlp", 100, 32).hits), "tensor": right_share(one), "channel": right_share(each),
        "group": right_share(group),
        "ten": right_share(at_bits("mlp", 10, 8, "tensor").hits), "plain": right_share(at_bits("mlp", 1, 8, "tensor").hits), "spread": 100,
        "less": 10, "chance": kit.amount(10.0, "%"),
    }  # fmt: skip


def peek() -> dict[str, object]:
    return {
        "bits": LAST, "levels": levels(LAST), "step": significant(step(1.0, LAST)), "noise": f"{noise_power(LAST):.3g}",
        "first_db": f"{sqnr_db(8) - sqnr_db(7):.2f} dB", "last_db": f"{sqnr_db(3) - sqnr_db(2):.2f} dB",
        "limit_db": f"{sqnr_db(32) - sqnr_db(31):.2f} dB", "gauss_levels": levels(LAST),
        "gauss_step": significant(best_gaussian_step(levels(LAST)), 4),
        "gauss_noise": f"{gaussian_noise(levels(LAST), best_gaussian_step(levels(LAST))):.3g}",
        "group": 32, "scale": 16, "stored": significant(stored_bits(LAST, 32, 16)),
    }  # fmt: skip
