"""Act I's pictures: energy over before, the plane in which it backfires, and joules per token by batch."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.rebound import threshold
from ironlaw.labs.lab_v2_15_jevons import fleets
from ironlaw.labs.lab_v2_15_jevons.act1 import local_runs
from ironlaw.labs.lab_v2_15_jevons.act1.setting import Setting, finite
from ironlaw.pictures import reveal_picture
from ironlaw.pictures.ends import snug
from ironlaw.pictures.lines import lines
from ironlaw.pictures.region import Case, region
from ironlaw.registry import evidence
from ironlaw.registry.publications import published
from ironlaw.units import percent, significant
from ironlaw.widget.figure import Axis, Figure, Mark, Row, Table, mark
from ironlaw.widget.hold import hold
from ironlaw.widget.quantities import exact, format_quantity

OF_BEFORE = (10.0, 1000.0)  # percent that the pictures hold
SHARES = tuple(10 ** (2 * i / 60) for i in range(61))  # percent
CAPTIONS = {fleets.OWN: "story", fleets.RENTED: "rented", fleets.TRAINING: "training", fleets.WORLD: "world, 2010–2018"}
ABOVE, BELOW = "more energy than before", "less energy than before"
FIXED, SET, WHOLE, BOTH = "demand stays fixed", "as set", "energy is the whole price", "machine time falls too"


def change(lab: kit.Lab, setting: Setting) -> Figure:
    """Percent of the energy before, from the lowest elasticity of the band to the highest: as set, and in the two extremes."""
    rows = {
        FIXED: setting.at(low=0.0, high=0.0), SET: setting, WHOLE: setting.at(share=1.0, passed=1.0, cost=1.0),
        BOTH: setting.at(passed=1.0, cost=1 / setting.gain),
    }  # fmt: skip
    marks: list[Mark] = []
    cells = []
    for name, case in rows.items():
        ends = [100 * case.energy(each) for each in (case.low, case.high)]
        start, end = (min(max(each, OF_BEFORE[0]), OF_BEFORE[1]) for each in ends)
        colour = "accent" if name == SET else "fail" if ends[1] > 100 else "good"
        hover: list[Row] = [(f"at an elasticity of {significant(at)}", exact(value, "%")) for at, value in
                            zip((case.low, case.high), ends, strict=True)]  # fmt: skip
        words = format_quantity(ends[0], "%") if ends[0] == ends[1] else f"{significant(ends[0])} to {format_quantity(ends[1], '%')}"
        if end - start > 1e-9:
            marks.append(mark("bar", colour, x0=start, x1=end, y=name, thin=True, id=f"band-{name}", name=name, hover=hover))
        marks.append(mark("point", colour, x=end, y=name, size=7, id=f"end-{name}", name=name, label=words, hover=hover,
                          shape="circle" if name == SET else "diamond"))  # fmt: skip
        cells.append((name, significant(case.low), format_quantity(ends[0], "%"), significant(case.high), format_quantity(ends[1], "%")))
    option = lab.choice("act1")
    if option is not None:
        marks += reveal_picture.rules(float(option.value), float(lab.question("act1").answer), "%")
    at = [100.0, *(value for one in marks for key, value in one.at if key.startswith("x"))]
    text = "; ".join(f"{name}: {low} at an elasticity of {first}, {high} at {last}" for name, first, low, last, high in cells)
    return Figure(
        "change",
        "Energy after the saving, compared with before",
        Axis("log", "of the energy before", "%", snug(0.9 * min(at), 1.1 * max(at))),
        Axis("band", names=tuple(rows)),
        tuple(marks),
        f"{text}.",
        table=Table(("case", "elasticity", "energy", "elasticity ", "energy "), tuple(cells)),
        note=f"energy per token ÷ {significant(setting.gain)}; electricity is {percent(setting.share)} of the price",
        more={"row": 46},
    )


def plane(lab: kit.Lab, setting: Setting) -> Figure:
    """The elasticity from which it backfires, by the share of electricity in the price."""

    def edge(share: float) -> float:
        return finite(threshold(setting.gain, share / 100, setting.passed, setting.cost), 1e6)

    cases = [
        Case(label, *_place(slug, setting, edge), chosen=False, drag=hold("high", "y") if fleets.context(slug).elasticity is None else None)
        for slug, label in CAPTIONS.items()
        if slug != lab.current_context.slug
    ]
    share = max(100 * setting.share, SHARES[0])
    own = Case("as set", share, setting.high, setting.limit, setting.low, chosen=True, drag=(hold("share"), hold("high", "y")))
    return region(
        [(share, edge(share)) for share in SHARES],
        Axis("log", "electricity in the price", "%", (1.0, 100.0), ticks=(1.0, 3.0, 10.0, 30.0, 100.0)),
        Axis("log", "price elasticity of demand", "", (0.1, 100.0), ticks=(0.1, 1.0, 10.0, 100.0)),
        "Where it backfires",
        above=ABOVE,
        below=BELOW,
        name="boundary",
        cases=[*cases, own],
        others={"if machine time falls as much": [(SHARES[0], 1.0), (SHARES[-1], 1.0)]},
        note=f"energy per token ÷ {significant(setting.gain)}; nobody knows the fleets' elasticities, so the ranges are yours",
        id="plane",
    )


def _place(slug: str, setting: Setting, edge: object) -> tuple[float, float, float, float | None, str]:
    """x, y, the boundary there, the band's low end, and a source."""
    case = fleets.context(slug)
    assert callable(edge)
    if case.elasticity is not None:
        return case.share, case.elasticity, 1.0, None, published("data_centres").citation
    return case.share, setting.high, float(edge(case.share)), setting.low, ""


def by_batch() -> Figure:
    """Joules per token against the batch: measured on an H200, and single settings that others published."""
    ours = [row for row in evidence.file("h200_sxm/decode_power").rows if row.params["context"] == 1024]
    table = published("ml_energy_power")
    theirs = {
        f"{name} on {words}": [(float(row["limit"]), float(row["energy"])) for row in table.where(machine="h100_sxm", model=model)]
        for model, name, words in (("llama3_8b", "8B", "H100"), ("llama3_70b", "70B", "4 H100"))
    }
    return lines(
        {"8B on our H200": [(float(row.params["batch"]), float(row.extra["joules_per_token"])) for row in ours]},
        Axis("log", "sequences at once", "", (1.0, 1024.0), ticks=(1.0, 4.0, 16.0, 64.0, 256.0, 1024.0)),
        Axis("log", "energy per token", "J", (0.01, 10.0), ticks=(0.01, 0.1, 1.0, 10.0)),
        "Larger batches take fewer joules per token", measured=theirs, measured_on="H100, ML.ENERGY leaderboard", id="by-batch",
        note="devices alone, without hosts and cooling; Llama 3 8B and 70B",
    )  # fmt: skip


def here(run: kit.Measured) -> Figure | None:
    """Joules of a row by batch on the learner's machine; None where no counter could be read."""
    joules = local_runs.joules(run)
    if not joules:
        return None
    ratio = joules[min(joules)] / joules[max(joules)]
    even = [(float(batch), joules[min(joules)]) for batch in sorted(joules)]
    return lines(
        {"if every row cost the same": even}, Axis("log", "rows at once", "", (1.0, 64.0), ticks=(1.0, 4.0, 16.0, 64.0)),
        Axis("log", "energy per row", "J"), "Joules on this machine",
        local={run.source: [(float(batch), value) for batch, value in sorted(joules.items())]}, id="here",
        note=f"the whole processor; {significant(ratio)}× less per row in the largest batch",
    )  # fmt: skip
