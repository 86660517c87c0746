"""The optimisation loop on a prediction: profile, bottleneck, hypothesis, apply, validate. Each step asks, the engine answers."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ironlaw import kit
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.predict import Prediction, predict
from ironlaw.engine.device.types import TERMS
from ironlaw.kit.cards import share
from ironlaw.kit.formula import term
from ironlaw.labs.review.review import Review
from ironlaw.labs.review.stepwise import Step, Values, Verdict, loop
from ironlaw.recall.card_words import display
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import workload
from ironlaw.widget.piece import Piece

JOBS = {"kws": ("dscnn_kws", 1), "resnet1": ("resnet50", 1), "resnet64": ("resnet50", 64), "gpt2": ("gpt2", 1), "bert": ("bert_base", 8)}
DEVICES = ("a100_80gb_sxm", "h100_sxm", "t4", "orin_nx_16gb")
BUSY = (0.25, 0.5, 0.75)
GAIN = (1.1, 1.5, 3.0)
BUSY_LABELS = ("under a quarter", "a quarter to a half", "a half to three quarters", "over three quarters")
GAIN_LABELS = ("hardly any", "a little, up to half again", "up to three times", "more than three times")
CHANGES = {
    "compile": "compile: fuse the graph", "batch": "eight times the batch", "bandwidth": "a machine with twice the bandwidth",
    "peak": "a machine with twice the peak rate",
}  # fmt: skip
PLAN = Plan(calibrated=False)
MORE = 8  # times the batch


@dataclass(frozen=True)
class Case:
    """A model on a machine, before and after each change; times are per item."""

    before: Prediction
    after: Mapping[str, Prediction]
    batch: int

    def gain(self, change: str) -> float:
        """How many times faster an item is."""
        items = MORE if change == "batch" else 1
        return float(self.before.seconds / (self.after[change].seconds / items))

    @property
    def best(self) -> str:
        return max(CHANGES, key=self.gain)

    @property
    def terms(self) -> dict[str, float]:
        p = self.before
        return {"memory": float(p.data_s), "compute": float(p.compute_s), "overhead": float(p.overhead_s)}


@lru_cache(maxsize=32)
def build_case(job: str, device: str) -> Case:
    name, batch = JOBS[job]
    graph, machine = workload(name, batch=batch), hardware(device)
    faster = replace(machine, peaks={fmt: 2 * rate for fmt, rate in machine.peaks.items()})
    faster = replace(faster, vector={fmt: 2 * rate for fmt, rate in machine.vector.items()})
    after = {
        "compile": predict(graph, machine, replace(PLAN, mode="compiled")),
        "batch": predict(workload(name, batch=MORE * batch), machine, PLAN),
        "bandwidth": predict(graph, replace(machine, bandwidth=2 * machine.bandwidth), PLAN),
        "peak": predict(graph, faster, PLAN),
    }
    return Case(predict(graph, machine, PLAN), after, batch)


def piece(lab: Review) -> Piece:
    jobs = [(job, f"{display(name)}, batch {batch}") for job, (name, batch) in JOBS.items()]
    menus = [
        {"id": "job", "label": "Model", "options": jobs},
        {"id": "device", "label": "Device", "options": [(slug, display(slug)) for slug in DEVICES]},
    ]
    words = lab.words
    noted = Verdict(None, kit.html(words["loop.kept"]))
    steps = [
        Step("Profile", words["loop.profile"], BUSY_LABELS, lambda values, answers: _profile(_case(values))),
        Step("Bottleneck", words["loop.bottleneck"], TERMS, lambda values, answers: _bottleneck(_case(values))),
        Step("Hypothesis", words["loop.hypothesis"], tuple(CHANGES.values()), lambda values, answers: noted),
        Step("Apply", words["loop.apply"], GAIN_LABELS, lambda values, answers: _apply(_case(values), _change(answers))),
        Step("Validate", words["loop.validate"], TERMS, lambda values, answers: _validate(_case(values), _change(answers))),
    ]
    return loop(menus, steps, lambda values, answers: _after(lab, _case(values), _change(answers)))


def _case(values: Values) -> Case:
    return build_case(values["job"], values["device"])


def _change(answers: Sequence[int]) -> str:
    """The learner's hypothesis."""
    return tuple(CHANGES)[answers[2]]


def _profile(case: Case) -> Verdict:
    busy, wall = float(case.before.busy_s), float(case.before.seconds)
    says = f"{kit.amount(wall, 's')} of wall time, {kit.amount(busy, 's')} of it busy: {share(busy, wall)}"
    return Verdict(bisect(BUSY, busy / wall), f"<p>{says}; {case.before.kernels:,.0f} launches.</p>")


def _bottleneck(case: Case) -> Verdict:
    terms = ", ".join(f"{term(name, name)} {kit.amount(seconds, 's')}" for name, seconds in case.terms.items())
    return Verdict(
        TERMS.index(str(case.before.bound)), f"<p>{terms}: {term(str(case.before.bound), str(case.before.bound))} is the bottleneck.</p>"
    )


def _apply(case: Case, change: str) -> Verdict:
    gain = case.gain(change)
    items = case.batch * (MORE if change == "batch" else 1)
    each = float(case.after[change].seconds) / items
    before = float(case.before.seconds) / case.batch
    says = f"An item takes {kit.amount(each, 's')} instead of {kit.amount(before, 's')}: {kit.times(gain)} faster."
    return Verdict(bisect(GAIN, gain), f"<p>{says}</p>")


def _validate(case: Case, change: str) -> Verdict:
    bound = str(case.after[change].bound)
    same = "as before" if bound == str(case.before.bound) else f"and no longer {case.before.bound}"
    return Verdict(TERMS.index(bound), f"<p>{term(bound, bound.capitalize())} is the bottleneck now, {same}.</p>")


def _after(lab: Review, case: Case, change: str) -> str:
    """All four changes side by side, and whether the hypothesis was the best of them."""
    rows = "".join(
        f'<tr><th scope="row">{label}{" (yours)" if name == change else ""}</th><td>{kit.times(case.gain(name))}</td>'
        f"<td>{case.after[name].bound}</td></tr>"
        for name, label in CHANGES.items()
    )
    verdict = "Your hypothesis was the best of the four." if case.best == change else f"The best of the four: {CHANGES[case.best]}."
    head = (
        '<thead><tr><th scope="col">change</th><th scope="col">an item is faster by</th><th scope="col">bottleneck then</th></tr></thead>'
    )
    return f"<p><b>{verdict}</b></p><table>{head}<tbody>{rows}</tbody></table>{kit.html(lab.words['loop.after'])}"
