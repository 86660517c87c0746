"""The end of Act II: one choice is committed, and the whole model predicts its tokens per second again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.kit import settings
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_11_roofline.act2 import budget, layer
from ironlaw.labs.lab_11_roofline.act2.budget import FACTOR, WAYS, Budget
from ironlaw.labs.lab_11_roofline.machines import KINDS, best_kind, machine, no_curves, options
from ironlaw.labs.lab_11_roofline.machines import short as machine_name
from ironlaw.registry.workloads import about
from ironlaw.units import significant
from ironlaw.widget.figure import Axis, Figure, Table, mark
from ironlaw.widget.quantities import exact

NAME = "act2_budget"
NOW = "today"
FIXED = True  # the question names the device, and a dial of its own changes it


def message(lab: kit.Lab) -> dict[str, object]:
    return {"batch": budget.BATCH}


def lock(lab: kit.Lab) -> dict[str, object]:
    return {"model": about(budget.premise().now.model)["name"], "batch": budget.BATCH, "context": f"{budget.CONTEXT:,}"}


def dials(lab: kit.Lab) -> Any:
    devices = options(lab)

    def dials_at(values: Mapping[str, Any]) -> list[Any]:
        turned = settings.dials(
            layer.Case,
            ("phase", "batch", "context", "model"),
            phase={"options": ("decode", "prefill"), "value": "decode"},
            batch={"high": 64, "value": budget.BATCH},
            context={"value": budget.CONTEXT},
        )
        return [*turned, kit.select("device", "Device", devices, budget.DEVICE)]

    return dials_at


def budget_of(lab: kit.Lab, values: Mapping[str, Any]) -> Budget:
    """The budget by the machine's measured curves, or else by other machines'."""
    chosen = machine(lab, values["device"])
    return Budget(settings.read(layer.Case, values, hardware=chosen, measured=best_kind(chosen) != "bound"))


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    spent, option = budget_of(lab, values), lab.choice(NAME)
    choice = option.id if option else ""
    if not spent.now.footprint.fits:
        return kit.View([bars(spent, choice)], banner=_out_of_memory(spent), note=kit.html(_fit(lab, spent)))
    return kit.View([bars(spent, choice)], cards(spent, choice), formula(spent, choice), note=notes(lab, spent))


def bars(spent: Budget, choice: str) -> Figure:
    """Tokens per second now and after each change; the best and the learner's own are tagged."""
    rows = {NOW: ("", spent.now.rate if spent.now.footprint.fits else 0.0), **{WAYS[way]: (way, rate) for way, rate in spent.rates.items()}}
    marks = []
    for name, (way, rate) in rows.items():
        best = bool(way) and way == spent.best and bool(rate)
        tags = [{"text": "◆ your choice", "colour": "accent"}] if way and way == choice else []
        tags += [{"text": "most", "colour": "good"}] if best else []
        role = "truth" if best else "prediction" if way and way == choice else None
        label = f"{significant(rate)}" if rate else "does not fit"
        marks.append(
            mark("bar", "accent" if way and way == choice else "ink" if way else "ridge", x=rate, y=name, id=way or "now", name=name,
                 label=label, tags=tags or None, role=role, hover=[("tokens/s", exact(rate)), *_against(spent, way)])
        )  # fmt: skip
    listed = tuple((name, significant(rate) if rate else "does not fit", _times(spent, way)) for name, (way, rate) in rows.items())
    words = "; ".join(f"{name} {significant(rate) if rate else 'does not fit'}" for name, (_, rate) in rows.items())
    case = spent.now
    note = f"{about(case.model)['name']}, {machine_name(case.hardware.slug)}, {case.phase}, batch {case.batch}, context {case.context:,}"
    return Figure(
        "budget", _finding(spent), Axis("linear", "tokens/s"), Axis("band", names=tuple(rows)), tuple(marks),
        f"Tokens per second: {words}.", Table(("change", "tokens/s", "against today"), listed), f"{note}; {KINDS[case.basis]}",
    )  # fmt: skip


def _finding(spent: Budget) -> str:
    if not spent.rates[spent.best]:
        return "Nothing fits"
    best = WAYS[spent.best]
    return f"{best[0].upper()}{best[1:]}: {_times(spent, spent.best)} the tokens per second"


def _times(spent: Budget, way: str) -> str:
    return f"{significant(spent.gain(way))}×" if way and spent.rates[way] else ""


def _against(spent: Budget, way: str) -> list[tuple[str, str]]:
    return [("against today", _times(spent, way))] if way and spent.rates[way] else []


def cards(spent: Budget, choice: str) -> list[dict[str, Any]]:
    best = spent.best
    rows = [
        kit.card("A pass today", spent.now.seconds, "s"),
        kit.text_card("Most", _times(spent, best) or "–", note=f"the tokens per second, with {WAYS[best]}"),
    ]
    if choice:
        rate = spent.rates[choice]
        note = f"the tokens per second, with {WAYS[choice]}" if rate else f"{WAYS[choice]} does not fit"
        rows.insert(1, kit.text_card("Your choice", _times(spent, choice) or "–", note=note))
    return rows


def formula(spent: Budget, choice: str) -> str:
    now = spent.now
    lines = line("tokens/s =", fraction("tokens", "<i>T</i>"), "=", fraction(f"{now.tokens:,}", kit.amount(now.seconds, "s")), "=",
                 significant(now.rate))  # fmt: skip
    if choice and spent.rates[choice]:
        tokens = spent.larger.tokens if choice == "batch" else now.tokens
        after = fraction(f"{tokens:,}", kit.amount(tokens / spent.rates[choice], "s"))
        lines += line("after your choice:", after, "=", significant(spent.rates[choice]))
    return lines


def notes(lab: kit.Lab, spent: Budget) -> str:
    saved = {f"{way}_saved": kit.dress(kit.share(max(0.0, spent.saved(way)), 1.0)) for way in ("gemm", "fuse", "tile")}
    texts = [lab.fill(f"{NAME}.step", products=_products(spent), **saved)]
    if not spent.now.measured:
        texts.append(lab.fill(f"{NAME}.at_the_roof", why=no_curves(spent.now.hardware.slug)))
    return kit.html("\n\n".join([*texts, _fit(lab, spent)]))


def _products(spent: Budget) -> str:
    return kit.dress(kit.share(spent.now.product_seconds, spent.now.seconds))


def _fit(lab: kit.Lab, spent: Budget) -> str:
    need = spent.needs
    return lab.fill(
        f"{NAME}.fits" if need.fits else f"{NAME}.does_not_fit", factor=FACTOR, required=kit.amount(float(need.total), "B"),
        available=kit.dress(kit.capacity(float(need.usable))),
    )  # fmt: skip


def _out_of_memory(spent: Budget) -> dict[str, Any]:
    need = spent.now.footprint
    text = f"{kit.amount(float(need.total), 'B')} of {kit.dress(kit.capacity(float(need.usable)))}"
    return kit.banner("fail", "Out of memory before anything is changed", text)


# --- the reveal


def truth(lab: kit.Lab) -> str:
    return kit.inline(lab.question(NAME).right.label)


def distance(lab: kit.Lab) -> str:
    option, spent = lab.choice(NAME), budget.premise()
    if option is None:
        return ""
    gain, best = (kit.dress(significant(spent.gain(way))) for way in (option.id, spent.best))
    if lab.holds(NAME):
        return f"right, with {gain}× the tokens per second"
    return f"off, because your choice makes {gain}× the tokens per second and the best one {best}×"


def reveal(lab: kit.Lab) -> dict[str, object]:
    spent, prefill = budget.premise(), budget.premise("prefill")
    gains = {f"{way}_gain": kit.dress(significant(spent.gain(way))) for way in WAYS}
    return {
        "now": significant(spent.now.rate), **{way: significant(rate) for way, rate in spent.rates.items()}, **gains, "factor": FACTOR,
        **{f"prefill_{way}": kit.dress(significant(prefill.gain(way))) for way in ("gemm", "fuse", "batch")},
        "products": _products(spent), "sequences": spent.now.batch,
        "user_before": significant(spent.now.per_user), "user_after": significant(spent.larger.per_user),
    }  # fmt: skip


def design(lab: kit.Lab) -> dict[str, Any]:
    """What the ledger keeps: the choice, and what the whole model then makes at the lead's own settings."""
    option = lab.choice(NAME)
    rate = budget.premise().rates[option.id] if option else None
    return {"budget_choice": option.id if option else None, "budget_tokens_per_s": round(rate, 1) if rate is not None else None}
