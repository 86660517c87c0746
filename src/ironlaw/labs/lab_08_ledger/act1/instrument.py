"""Act I: the mountain of one training step. Dials to a case, a case to pictures, cards and the formula."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ironlaw import kit
from ironlaw.engine.training.autograd import kept
from ironlaw.engine.training.loss import with_loss
from ironlaw.engine.training.recipes import OPTIMISERS, RECIPES
from ironlaw.engine.training.setup import Setup
from ironlaw.engine.training.training_ledger import ROWS
from ironlaw.kit import settings
from ironlaw.kit.context import the
from ironlaw.kit.formula import line, term
from ironlaw.labs.lab_08_ledger import step
from ironlaw.labs.lab_08_ledger.act1 import local_runs
from ironlaw.labs.tables import scrolling_table
from ironlaw.pictures.reveal_picture import Distance
from ironlaw.systems.fields import whole
from ironlaw.systems.training.ledger_cases import LedgerCase as Case
from ironlaw.units import significant
from ironlaw.widget.figure import Mark, mark, tabbed
from ironlaw.widget.quantities import exact, format_quantity

PREMISE = Case("gpt2", 1024, Setup("fp32", "adamw", 8))
CLAIMS = ("training_is_four_times_inference", "adam_sixteen_bytes", "batch_doubles_memory")
MORE = ("attention",)  # dials in the fold


@dataclass(frozen=True)
class Setting(step.Dialled):
    model: str = step.model_field(PREMISE.model)
    seq_512: int = step.tokens_field(512, PREMISE.seq)
    seq_1024: int = step.tokens_field(1024, PREMISE.seq)
    seq_8192: int = step.tokens_field(8192, PREMISE.seq)
    batch: int = whole(PREMISE.setup.batch, "Batch", most=256, dial="span", log=True, steps=step.BATCHES)
    recipe: str = step.recipe_field(PREMISE.setup.recipe)
    optimiser: str = step.optimiser_field()
    attention: str = step.attention_field()
    chunks: int = step.chunks_field()

    @property
    def case(self) -> Case:
        return Case(self.model, self.seq, Setup(self.recipe, self.optimiser, self.batch, **self.levers))


def dials(lab: kit.Lab) -> Any:
    return lambda values: settings.dials(Setting, **step.hidden_for(values.get("model") or PREMISE.model))


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    case, device = settings.read(Setting, values).case, lab.current_context
    usable = float(device.hardware.usable)
    run = lab.local_run("ledger")
    return kit.View(
        figures=[
            tabbed(step.picture(case, usable, marks(lab, case)), "The step"),
            tabbed(step.bar(case, usable, the(device)), "Against the device"),
            *([tabbed(local_runs.picture(run), "Counted here")] if run is not None else []),
        ],
        cards=cards(case, usable),
        formula=formula(case),
        note=kit.html(note(lab, case)),
        after=table(case),
        readouts=readouts(case),
        seen={"most": local_runs.most(run), "peak": kit.amount(case.peak, "B")} if run is not None else {},
    )


def readouts(case: Case) -> dict[str, Any]:
    now = case.ledger
    return {"peak_bytes": round(float(now.peak)), "static_bytes": round(float(now.static.total)), "multiple": round(multiple(case), 2)}


def multiple(case: Case) -> float:
    return float(case.ledger.peak / case.ledger.static.weights)


def marks(lab: kit.Lab, case: Case) -> tuple[Mark, ...]:
    """The multiple that you said, and the one that it is, as levels of this step's mountain."""
    option = lab.choice("act1")
    if option is None:
        return ()
    said, true, weights = float(option.value), multiple(case), float(case.ledger.static.weights)
    off = Distance(said, true).words
    return (
        mark("rule", "accent", y=said * weights, role="prediction", id="prediction", name="your prediction",
             label=f"you said {significant(said)}×", hover=[("your prediction", exact(said * weights, "B")), ("off", off)]),
        mark("rule", "ink", y=case.peak, role="truth", id="truth", name="the peak", label=f"it is {significant(true)}× the weights",
             hover=[("the peak", exact(case.peak, "B"))]),
    )  # fmt: skip


def cards(case: Case, usable: float) -> list[dict[str, Any]]:
    now = case.ledger
    share = float(now.peak) / usable
    of = f"{kit.share(float(now.peak), usable)} of the usable memory"
    fits = kit.card("Peak", float(now.peak), "B", tone=kit.tone("memory", share), note=of)
    weights = f"weights {format_quantity(float(now.static.weights), 'B')}"
    return [
        {**fits, "word": "fits" if share <= 1 else "does not fit"},
        kit.text_card("Peak ÷ weights", significant(multiple(case)), "×", note=weights),
        kit.card("Model states", float(now.static.total), "B", note="at any batch size"),
        kit.card("Saved", float(now.kept), "B", note="for the backward pass", term="memory"),
        kit.text_card("Peaks during", step.PHASES[now.peak_at.phase], note=step.plain(now.peak_at.op)),
    ]  # fmt: skip


def formula(case: Case) -> str:
    now = case.ledger
    count = float(case.graph.params)
    each = [float(part) / count for part in (now.static.weights, now.static.gradients, now.static.master, now.static.optimiser)]
    bytes_each = " + ".join(significant(part) for part in each)
    *parts, peak = kit.amounts([*(float(now.at_peak(row)) for row in ROWS if now.at_peak(row) > 0), float(now.peak)], "B")
    rows = "model states = <i>P</i> · (<i>w</i> + <i>g</i> + <i>m</i> + <i>o</i>) ="
    return (
        line(rows, f"{kit.amount(count)} × ({bytes_each})", "=", kit.amount(float(now.static.total), "B"))
        + line(term("memory", "saved for backward"), "= Σ over the operators =", term("memory", kit.amount(float(now.kept), "B")))
        + line("peak = max over the step =", " + ".join(parts), "=", peak)
    )  # fmt: skip


def note(lab: kit.Lab, case: Case) -> str:
    now = case.ledger
    slots: dict[str, object] = {"op": step.plain(now.peak_at.op), "phase": step.passing(now.peak_at.phase)}
    striped = [lab.fill("act1.striped")] if step.has_head(case.model) else []
    paragraphs = [" ".join([lab.fill("act1.flag", **slots), *striped])]
    if case.model == "llama3_2_1b" and case.setup.recipe == "fp32" and case.setup.attention == "fused":
        paragraphs.append(lab.fill("act1.no_fused"))
    if OPTIMISERS[case.setup.optimiser].scratch and not RECIPES[case.setup.recipe].master:
        paragraphs.append(lab.fill("act1.second_peak", scratch=kit.amount(float(now.profile[-1].bytes[-1]), "B")))
    return "\n\n".join(paragraphs)


def table(case: Case) -> str:
    """The layers that keep most, and what stands outside of them."""
    if case.setup.recipe == "autocast" or case.setup.attention != "fused":
        return ""
    layers = kept(with_loss(case.graph)).by_layer
    rows = [
        (step.plain(f"{name}.x").partition(",")[0] if name else "outside the layers", kit.amount(float(size) * case.setup.batch, "B"))
        for name, size in sorted(layers.items(), key=lambda item: -float(item[1]))[:4]
    ]
    return scrolling_table("Saved for backward, by layer", ("Layer", "Bytes"), rows)
