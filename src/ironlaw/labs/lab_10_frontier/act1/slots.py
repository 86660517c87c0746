"""Act I's words: the truth, the distance, and the slots of every section, for the prediction's own case."""

from __future__ import annotations

from itertools import pairwise

from ironlaw import kit
from ironlaw.engine.numerics.clipping import best_gaussian_step, gaussian_noise
from ironlaw.engine.numerics.decay import decay
from ironlaw.engine.numerics.grids import factor_per_bit, levels, noise_power, sqnr_db, step
from ironlaw.engine.numerics.storage import stored_bits
from ironlaw.labs.lab_10_frontier import llama
from ironlaw.labs.lab_10_frontier.act1.setting import ASKED, FIRST, LAST, SCALE_BITS, Setting, tested
from ironlaw.registry.compression_tables import at_bits
from ironlaw.registry.trained_nets import trained
from ironlaw.units import significant

PLAIN, REPAIRED = Setting(scale="tensor"), Setting(spread=100)  # the net as trained, and what repairs the one of the question
LESS, ROW, GROUP = 10, 4096, 64


def right_share(hits: int) -> str:
    return kit.amount(100 * hits / tested(), "%")


def factor(value: float) -> str:
    return f"×{significant(value)}"


def lock() -> dict[str, object]:
    return {
        "plain": right_share(PLAIN.answers.hits), "full": right_share(at_bits("mlp", ASKED.spread, 32).hits), "spread": ASKED.spread,
        "parameters": f"{trained('digits').nets['mlp']['parameters']:,}", "images": tested(),
    }  # fmt: skip


def truth(lab: kit.Lab) -> str:
    return str(kit.amount(float(lab.question("act1").answer), "%"))


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act1")
    return kit.points(float(option.value), float(lab.question("act1").answer)) if option else ""


def _llama() -> float:
    table = [(llama.bits(row), float(cells["kl"])) for row, cells in llama.rows().items() if "_K" in row and "imatrix" not in row]
    return decay([bits for bits, _ in table], [kl for _, kl in table]).factor


def reveal() -> dict[str, object]:
    plain = Setting()
    return {
        "theory": factor(factor_per_bit(FIRST, LAST)), "net": factor(plain.factor), "cnn": factor(Setting("ds_cnn").factor),
        "llama": factor(_llama()), "first": FIRST, "last": LAST, "plain": right_share(PLAIN.answers.hits),
        "eight": right_share(plain.at(8).hits), "four": right_share(plain.at(4).hits), "three": right_share(plain.at(3).hits),
        "two": right_share(plain.at(2).hits), "tensor": right_share(ASKED.answers.hits),
        "channel": right_share(REPAIRED.answers.hits), "spread": ASKED.spread, "less": LESS,
        "ten": right_share(at_bits("mlp", LESS, 8, "tensor").hits), **single_bits(),
    }  # fmt: skip


def single_bits() -> dict[str, object]:
    """What the cheapest and the most expensive bit of the classifier cost, from eight bits down to two."""
    divergence = [Setting().at(bits).kl for bits in range(8, 1, -1)]
    costs = [after / before for before, after in pairwise(divergence)]
    return {"least": factor(min(costs)), "most": factor(max(costs))}


def reflection() -> dict[str, object]:
    def growth(group: int) -> kit.Markup:
        return kit.amount(100 * (stored_bits(8, group, SCALE_BITS) / 8 - 1), "%", 2)

    return {"row": f"{ROW:,}", "scale": SCALE_BITS, "grows": growth(ROW), "group": GROUP, "grouped": growth(GROUP)}


def peek() -> dict[str, object]:
    return {
        "bits": LAST, "levels": levels(LAST), "step": significant(step(1.0, LAST)), "noise": f"{noise_power(LAST):.3g}",
        "first_db": f"{sqnr_db(8) - sqnr_db(7):.2f} dB", "last_db": f"{sqnr_db(3) - sqnr_db(2):.2f} dB",
        "limit_db": f"{sqnr_db(32) - sqnr_db(31):.2f} dB", "gauss_levels": levels(LAST),
        "gauss_step": significant(best_gaussian_step(levels(LAST)), 4),
        "gauss_noise": f"{gaussian_noise(levels(LAST), best_gaussian_step(levels(LAST))):.3g}",
        "group": 32, "scale": 16, "stored": significant(stored_bits(LAST, 32, 16)),
    }  # fmt: skip
