"""Act II: a step that must fit. Every lever as a dial; what it frees, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ironlaw import kit
from ironlaw.engine.training import setup as setups
from ironlaw.engine.training.checkpointing import recompute
from ironlaw.engine.training.setup import Setup
from ironlaw.kit import settings
from ironlaw.kit.context import the
from ironlaw.kit.formula import fraction, line, term
from ironlaw.labs.lab_08_ledger import step
from ironlaw.labs.lab_08_ledger.act2 import banners
from ironlaw.labs.lab_08_ledger.act2.banners import LIMITS, UPDATE, Fit
from ironlaw.labs.tables import scrolling_table
from ironlaw.pictures.ends import up_to
from ironlaw.pictures.lines import upright
from ironlaw.pictures.reveal_picture import on_rows
from ironlaw.pictures.stack import stack
from ironlaw.systems.fields import among, whole
from ironlaw.systems.limits import Limit, hit
from ironlaw.systems.training.ledger_cases import LedgerCase as Case
from ironlaw.units import significant
from ironlaw.widget.figure import Figure, tabbed
from ironlaw.widget.quantities import THIN, format_quantity

START = Case("llama3_2_1b", 2048, Setup("mixed", "adamw", 4, accumulate=16))
CHANGES: dict[str, dict[str, Any]] = {
    "checkpoint": {"checkpoint": 16}, "adam8bit": {"optimiser": "adam8bit"}, "loss_chunks": {"loss_chunks": 8},
    "batch": {"batch": 3, "accumulate": 22},
}  # fmt: skip
ROWS = setups.LABELS | {"batch": "one sequence fewer"}  # option -> its row in the picture
CLAIMS = ("checkpointing_costs_a_third", "sqrt_checkpointing_is_best", "head_is_small")
NONE, EVERY, SOME = "none", "every", "some"
RECOMPUTE = {NONE: "nothing", EVERY: "every layer", SOME: "segments of layers"}
STAGES = {0: "off", 1: "1: optimiser", 2: "2: + gradients", 3: "3: + weights"}
MORE = ("model", "recipe", "attention", "offload", "zero", "devices")  # dials in the fold


@dataclass(frozen=True)
class Setting(step.Dialled):
    model: str = step.model_field(START.model)
    seq_512: int = step.tokens_field(512, START.seq)
    seq_1024: int = step.tokens_field(1024, START.seq)
    seq_8192: int = step.tokens_field(8192, START.seq)
    batch: int = whole(START.setup.batch, "Microbatch", most=UPDATE, dial="span", log=True)
    recipe: str = step.recipe_field(START.setup.recipe)
    optimiser: str = step.optimiser_field()
    recompute: str = among(RECOMPUTE, NONE, "Recompute")
    segments: int = whole(4, "Segments", most=32, dial="span")
    chunks: int = step.chunks_field()
    attention: str = step.attention_field()
    offload: bool = among({False: "on the device", True: "in host memory"}, False, "Optimiser state")
    zero: int = among(STAGES, 0, "ZeRO stage", dial="select")
    devices: int = whole(8, "Devices to shard over", most=64, dial="span", log=True, steps=[1, 2, 4, 8, 16, 32, 64])

    @property
    def checkpoint(self) -> int:
        """Segments that are recomputed."""
        count = step.layer_count(self.model)
        return {NONE: 0, EVERY: count, SOME: min(self.segments, count)}[self.recompute]

    @property
    def case(self) -> Case:
        setup = Setup(
            self.recipe,
            self.optimiser,
            self.batch,
            accumulate=-(-UPDATE // self.batch),
            checkpoint=self.checkpoint,
            zero_stage=self.zero,
            devices=self.devices if self.zero else 1,
            offload=self.offload,
            **self.levers,
        )
        return Case(self.model, self.seq, setup)


def dials(lab: kit.Lab) -> Any:
    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        no_link = {} if host_link(lab) else {True: f"the registry has no link between {the(lab.current_context)} and its host"}
        return settings.dials(
            Setting,
            segments={"hidden": (values.get("recompute") or NONE) != SOME},
            offload={"disabled": no_link},
            devices={"hidden": not (values.get("zero") or 0)},
            **step.hidden_for(values.get("model") or START.model),
        )

    return dials_at


def host_link(lab: kit.Lab) -> float:
    """Bytes per second to the host's memory; 0 where the registry has none."""
    links = [link for link in lab.current_context.hardware.links if link.name.startswith("PCI")]
    return float(links[0].per_direction) if links else 0.0


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    case, device = settings.read(Setting, values).case, lab.current_context
    usable = float(device.hardware.usable)
    limit = hit(LIMITS, Fit(case, usable))
    return kit.View(
        figures=[
            tabbed(levers(lab, case, usable), "After one change"), tabbed(step.picture(case, usable), "The step"),
            tabbed(step.bar(case, usable, the(device)), "Against the device"),
        ],
        cards=cards(lab, case, usable),
        formula=formula(lab, case, usable),
        banner=banners.banner(lab, Fit(case, usable)),
        note=kit.html(note(lab)),
        after=changes(case),
        readouts=readouts(case, usable, limit),
    )  # fmt: skip


def note(lab: kit.Lab) -> str:
    link = host_link(lab)
    return " ".join([lab.fill("act2.note"), *([lab.fill("act2.link", link=kit.amount(link, "B/s"))] if link else [])])


def readouts(case: Case, usable: float, limit: Limit) -> dict[str, Any]:
    now, setup = case.ledger, case.setup
    return {
        "model": case.model, "seq": case.seq, "recipe": setup.recipe, "optimiser": setup.optimiser, "micro_batch": setup.batch,
        "checkpoint": setup.checkpoint, "peak_bytes": round(float(now.peak)), "static_bytes": round(float(now.static.total)),
        "headroom_bytes": round(usable - float(now.peak)), "constraint_hit": limit.tone == "fail", "verdict": limit.name,
    }  # fmt: skip


def again(case: Case) -> float:
    """FLOPs that run twice, as a share of forward and backward."""
    return float(recompute(case.graph, case.setup.checkpoint))


def offloaded(lab: kit.Lab, case: Case) -> float:
    """Seconds an update for gradients to the host and weights back."""
    held = case.with_(offload=False).ledger.static
    return float((held.gradients + held.weights) / host_link(lab)) if case.setup.offload and host_link(lab) else 0.0


def cards(lab: kit.Lab, case: Case, usable: float) -> list[dict[str, Any]]:
    now = case.ledger
    room, share, largest = usable - float(now.peak), float(now.peak) / usable, case.largest(usable)
    twice, away = again(case), offloaded(lab, case)
    word = "fits" if room >= 0 else "does not fit"
    where = f"{step.PHASES[now.peak_at.phase]}, {step.plain(now.peak_at.op)}"
    time = f"{kit.share(twice, 1.0)} more arithmetic" if twice else "nothing is recomputed"
    return [
        kit.card("Peak", float(now.peak), "B", tone=kit.tone("memory", share), note=where, word=word),
        kit.card("Headroom", room, "B", tone="good" if room >= 0 else "bad", word="to spare" if room >= 0 else "missing"),
        kit.text_card("Largest microbatch", f"{largest:,}", note=f"{step.micro_batches(case.setup.accumulate)} per update"),
        kit.text_card("Step time", significant(1 + twice), "×", note=time),
        *([kit.card("To the host and back", away, "s", note="per update")] if away else []),
    ]  # fmt: skip


def formula(lab: kit.Lab, case: Case, usable: float) -> str:
    peak, twice, away = case.peak, again(case), offloaded(lab, case)
    lines = [
        line("headroom = usable − peak =", f"{kit.amount(usable, 'B')} − {kit.amount(peak, 'B')}", "=", kit.amount(usable - peak, "B")),
        line("step time = 1 +", term("compute", fraction("recomputed FLOPs", "forward + backward FLOPs")), "=", significant(1 + twice)),
    ]
    if away:
        lines.append(
            line("offload =", term("memory", fraction("gradients + weights", "<i>BW</i> of the host link")), "=", kit.amount(away, "s"))
        )
    return "".join(lines)


def after_each(case: Case) -> list[tuple[str, Case]]:
    """The step after each single change, by the change's label."""
    return [(setups.LABELS[name], Case(case.model, case.seq, other)) for name, other in setups.levers(case.graph, case.setup)]


def _less(freed: float, left: float) -> str:
    """` (−14.2)` behind `32.5 GB`; with its own unit where that is another."""
    text, unit = format_quantity(freed, "B"), format_quantity(left, "B").partition(THIN)[2]
    return f" (−{text.removesuffix(THIN + unit)})"


def _best(case: Case, steps: Mapping[str, Case]) -> str:
    name = min(steps, key=lambda each: steps[each].peak)
    return f"The best single change: {name}" if steps[name].peak < case.peak else "No single change lowers the peak"


def levers(lab: kit.Lab, case: Case, usable: float) -> Figure:
    """The peak as it is, and after each single change, piece by piece; the one that you said and the one that it is are marked."""
    fewer = [(ROWS["batch"], case.with_(batch=case.setup.batch - 1))] if case.setup.batch > 1 else []
    steps = dict([("as set", case), *after_each(case), *fewer])
    freed = {name: _less(case.peak - one.peak, one.peak) for name, one in steps.items() if one.peak < case.peak}
    limit = upright(usable, f"usable {format_quantity(usable, 'B')}", "usable memory", "B")
    drawn = stack(
        {name: step.pieces(one) for name, one in steps.items()}, "B", _best(case, steps), chosen="as set", label="peak",
        note=f"{case.name}, {case.sizes}", id="levers", behind=freed,
        extra=[limit] if usable < up_to(1.2 * max(one.peak for one in steps.values())) else [],
    )  # fmt: skip
    option = lab.choice("act2")
    return on_rows(drawn, [ROWS[option.id]], ROWS[lab.question("act2").right.id]) if option else drawn


def changes(case: Case) -> str:
    """The same in a table, by what each frees."""
    freed = sorted(((case.peak - one.peak, name) for name, one in after_each(case)), reverse=True)
    rows = [(name, kit.amount(size, "B") if size > 0 else "nothing") for size, name in freed]
    return scrolling_table("What one change frees, from here", ("Change", "Frees"), rows) if rows else ""
