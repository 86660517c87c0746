"""Act I's words: the truth, the distance, and the slots of every section, for the message's product."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.engine.device.roofline import mfu
from ironlaw.formats import operation
from ironlaw.kit.context import pick
from ironlaw.labs.lab_11_roofline.act1 import gemm
from ironlaw.labs.lab_11_roofline.act1.gemm import Case
from ironlaw.labs.lab_11_roofline.act1.instrument import premise_case
from ironlaw.labs.lab_11_roofline.intensity import per_byte
from ironlaw.units import significant

STATES = dict.fromkeys(("message", "reveal", "peek"), ("context",))  # the message's product is on the context's device
NARROW = ("fp8", "int8")  # the one-byte format that a device has


def _label(lab: kit.Lab, case: Case) -> str:
    return pick(lab.contexts, case.hardware.slug).label


def _rate(value: object, case: Case) -> str:
    return kit.amount(float(value), case.unit)  # type: ignore[arg-type]


def _intensity(value: object, case: Case) -> str:
    return per_byte(value, case.fmt)


def message(lab: kit.Lab) -> dict[str, object]:
    case = premise_case(lab)
    return {
        "n": str(case.n), "device": _label(lab, case), "rate": _rate(case.at.attainable, case), "peak": _rate(case.at.peak, case),
        "share": kit.dress(kit.share(case.at.attainable, case.at.peak)),
    }  # fmt: skip


def lock(lab: kit.Lab) -> dict[str, object]:
    return {"n": str(premise_case(lab).n)}


def truth(lab: kit.Lab) -> str:
    case = premise_case(lab)
    return f"{kit.inline(lab.question('act1').right.label)} {_intensity(case.at.intensity, case)}, ridge {_intensity(case.at.ridge, case)}"


def distance(lab: kit.Lab) -> str:
    """How far left of the ridge the product lies: what any other answer overlooks."""
    at = premise_case(lab).at
    left = kit.dress(significant(float(at.ridge / at.intensity)))
    if lab.holds("act1"):
        return f"right, because the ridge is at {left}× the product's intensity"
    return f"on the wrong side of the ridge, which is at {left}× the product's intensity"


def _premise(lab: kit.Lab) -> dict[str, object]:
    case = premise_case(lab)
    at = case.at
    return {
        "n": str(case.n), "device": _label(lab, case), "intensity": _intensity(at.intensity, case), "ridge": _intensity(at.ridge, case),
        "bandwidth": kit.amount(float(case.hardware.bandwidth), "B/s"), "attainable": _rate(at.attainable, case),
        "peak": _rate(at.peak, case),
        "share": kit.dress(kit.share(at.attainable, at.peak)),
    }  # fmt: skip


def _narrow(case: Case) -> Case:
    return case.as_(next(fmt for fmt in NARROW if fmt in case.hardware.peaks))


def reveal(lab: kit.Lab) -> dict[str, object]:
    case = premise_case(lab)
    large = case.sized(gemm.LARGEST)
    python, graph = (gemm.run("fp16", gemm.MEASURED_N, replayed) for replayed in (False, True))
    return {
        **_premise(lab), "peak_gain": kit.dress(significant(float(_narrow(case).at.peak / case.at.peak))), "before": case.bound,
        "after": _narrow(case).bound, "crossing": f"{int(-(-case.crossing // 1)):,}", "narrow": _narrow(case).fmt.upper(),
        "python_n": str(python.case.n),
        "h200_roof": _rate(python.case.at.attainable, python.case), "h200_graph": _rate(graph.rate, graph.case),
        "h200_python": _rate(python.rate, python.case),
        "large_n": f"{large.n:,}", "large_intensity": per_byte(large.at.intensity, large.fmt, 4),
    }  # fmt: skip


def reflection(lab: kit.Lab) -> dict[str, object]:
    case = premise_case(lab)
    four, narrow = case.sized(4 * case.n), _narrow(case)
    slots = {key: value for key, value in _premise(lab).items() if key in ("n", "intensity", "share", "ridge")}
    return {
        **slots, "four_n": f"{four.n:,}", "four_intensity": _intensity(four.at.intensity, four),
        "four_share": kit.dress(kit.share(four.at.attainable, four.at.peak)), "narrow": narrow.fmt.upper(),
        "narrow_intensity": _intensity(narrow.at.intensity, narrow), "narrow_ridge": _intensity(narrow.at.ridge, narrow),
    }  # fmt: skip


def peek(lab: kit.Lab) -> dict[str, object]:
    case = premise_case(lab)
    graph = gemm.run("fp16", gemm.MEASURED_N, True)
    share = float(mfu(graph.case.work.flops, graph.seconds, graph.case.at.peak))
    return {
        **_premise(lab), "flops": kit.amount(float(case.work.flops), operation(case.fmt)), "bytes": kit.amount(float(case.work.bytes), "B"),
        "python_n": str(graph.case.n), "mfu": kit.dress(kit.share(share, 1.0)),
    }  # fmt: skip
