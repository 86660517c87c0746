"""Act I's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.privacy.accountants import ADVANCED, BASIC, LIMIT, MOMENTS, RDP, limit_mu, step_epsilon
from ironlaw.engine.privacy.attacks import accuracy, advantage, noise_accuracy
from ironlaw.engine.privacy.gaussian import classical_sigma, gaussian_sigma
from ironlaw.engine.privacy.renyi import divergence
from ironlaw.labs.lab_v2_13_privacy.act1.run import Run
from ironlaw.labs.lab_v2_13_privacy.runs import reference, spent, tiny
from ironlaw.registry.publications import published


def story() -> Run:
    """The question's own run."""
    return Run(60_000, 600)


def tutorial() -> tuple[float, float, float, float]:
    """TensorFlow Privacy's default run on MNIST, of the reflection: sampling rate, noise multiplier, steps, δ."""
    row = published("tf_privacy_mnist").where(noise=1.1)[0]
    return 256 / 60_000, float(row["noise"]), float(int(row["epochs"]) * 60_000 // 256), 1e-5


def message() -> dict[str, object]:
    run = story()
    each = step_epsilon(run.rate, run.noise, run.delta / run.steps)
    return {"step": kit.amount(each), "steps": f"{run.steps:,.0f}", "sum": kit.amount(run.by(BASIC))}


def lock() -> dict[str, object]:
    run = story()
    return {
        "rate": kit.amount(100 * run.rate, "%"), "noise": kit.amount(run.noise), "steps": f"{run.steps:,.0f}", "delta": tiny(run.delta),
    }  # fmt: skip


def truth(lab: kit.Lab) -> str:
    return kit.amount(float(lab.question("act1").answer), "%")


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act1")
    return kit.points(float(option.value), float(lab.question("act1").answer)) if option else ""


def reveal() -> dict[str, object]:
    run = story()
    return {
        "sum": kit.amount(run.by(BASIC)), "advanced": kit.amount(run.by(ADVANCED)), "moments": kit.amount(run.by(MOMENTS)),
        "tight": kit.amount(run.by(RDP)), "limit": kit.amount(run.by(LIMIT)), "pld": kit.amount(pld()),
        "steps": f"{run.steps:,.0f}", "guesses": kit.amount(100 * accuracy(run.by(RDP), run.delta), "%"),
        "own": kit.amount(100 * run.noise_attack, "%"), "rate": kit.amount(100 * run.rate, "%"),
    }  # fmt: skip


def pld() -> float:
    """What Google's accountant has for the question's run."""
    run = story()
    theirs = reference(run.rate, run.noise, run.steps, run.delta)
    assert theirs is not None
    return theirs


def reflection() -> dict[str, object]:
    run = tutorial()
    row = published("tf_privacy_mnist").where(noise=1.1)[0]
    return {
        "old": kit.amount(float(row["epsilon"])), "new": kit.amount(spent(*run)), "noise": kit.amount(run[1]),
        "epochs": f"{row['epochs']:g}", "delta": tiny(run[3]), 
        "pld": kit.amount(float(published("pld_accountant").where(noise=run[1])[0]["epsilon"])),
    }  # fmt: skip


def peek() -> dict[str, object]:
    run = story()
    order = run.order
    each = divergence(run.rate, run.noise, order)
    return {
        "order": f"{order:g}", "each": kit.amount(each, "", 4), "steps": f"{run.steps:,.0f}", "total": kit.amount(run.steps * each, "", 4),
        "tight": kit.amount(run.by(RDP), "", 4), "moments": kit.amount(run.by(MOMENTS), "", 4), "delta": tiny(run.delta),
        "sigma": kit.amount(gaussian_sigma(1.0, 1e-5), "", 4), "classical": kit.amount(classical_sigma(1.0, 1e-5), "", 4),
        "advantage": kit.amount(100 * advantage(1.0), "%"), "accuracy": kit.amount(100 * accuracy(1.0), "%"),
        "normal": kit.amount(100 * noise_accuracy(1 / gaussian_sigma(1.0, 1e-5)), "%"), "own": kit.amount(100 * run.noise_attack, "%", 4),
        "mu": kit.amount(limit_mu(run.rate, run.noise, run.steps)), "limit": kit.amount(run.by(LIMIT)),
    }  # fmt: skip
