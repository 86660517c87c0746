"""Act II's words: the truth, the distance, and the slots of every section."""

from __future__ import annotations

from ironlaw import kit
from ironlaw.claims import row
from ironlaw.engine.numerics.storage import csr_breakeven, csr_bytes, nm_storage
from ironlaw.kit.context import the
from ironlaw.labs.lab_10_frontier import llama
from ironlaw.labs.lab_10_frontier.act2.case import tested
from ironlaw.labs.lab_10_frontier.act2.figures import COLUMN, SIDE, VALUE
from ironlaw.labs.lab_10_frontier.reader import Setting
from ironlaw.units import significant

STATES = {"peek": ("context",)}
FEW, MANY = 32, 8192  # rows of the products that were measured


def message() -> dict[str, object]:
    return {"full": kit.amount(llama.size(llama.PLAIN), "B"), "reader": kit.amount(Setting().bytes, "B")}


def lock() -> dict[str, object]:
    return {"value": VALUE, "column": COLUMN}


def truth(lab: kit.Lab) -> str:
    return kit.amount(float(lab.question("act2").answer), "%")


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act2")
    return kit.points(float(option.value), float(lab.question("act2").answer)) if option else ""


def _share(zeros: float) -> float:
    return float(csr_bytes(SIDE, (1 - zeros) * SIDE * SIDE, VALUE, COLUMN) / (SIDE * SIDE * VALUE / 8))


def reveal() -> dict[str, object]:
    return {
        "half": kit.percent(_share(0.5)), "ninety": kit.percent(_share(0.9)), "fp32": kit.percent(csr_breakeven(32, 32)), "value": VALUE,
        "column": COLUMN, "short": kit.percent(csr_breakeven(VALUE, COLUMN, 64)), "long": kit.percent(csr_breakeven(VALUE, COLUMN, SIDE)),
        "board": len(llama.rows()), "q4": kit.amount(llama.size("Q4_0"), "B"),
    }  # fmt: skip


def reflection() -> dict[str, object]:
    few, many = (_speedup(m) for m in (FEW, MANY))
    return {
        "share": kit.percent(nm_storage(2, 4, 16)), "int8": kit.percent(nm_storage(2, 4, 8)), "int4": kit.percent(nm_storage(2, 4, 4)),
        "few": kit.times(few), "many": kit.times(many), "few_rows": FEW, "many_rows": f"{MANY:,}",
    }  # fmt: skip


def _speedup(m: int) -> float:
    """Dense over 2:4 in BF16 on the H200, 8,192 × 8,192 weights."""
    return _forms(m, mode="plain") / _forms(m, mode="two_four", variant="searched")


def _forms(m: int, **which: str) -> float:
    product = row("h200_sxm/product_forms", m=m, k=8192, n=8192, **which)
    assert product.busy_s is not None
    return product.busy_s


def peek(lab: kit.Lab) -> dict[str, object]:
    return {
        "value": VALUE, "column": COLUMN, "share": kit.percent(csr_breakeven(VALUE, COLUMN)), "nm": kit.percent(nm_storage(2, 4, 16)),
        "quant": "Q4_0", "file": kit.amount(llama.size("Q4_0"), "B"), "bits": significant(llama.bits("Q4_0")),
        "bandwidth": kit.amount(float(lab.current_context.hardware.bandwidth), "B/s"), "device": the(lab.current_context),
        "floor": kit.amount(llama.size("Q4_0") / float(lab.current_context.hardware.bandwidth), "s"),
    }  # fmt: skip


def takeaways() -> dict[str, object]:
    fp8 = _forms(MANY, mode="plain") / _forms(MANY, mode="fp8")
    int8 = _forms(MANY, mode="plain") / _forms(MANY, mode="int8")
    return {"fp8": kit.times(fp8), "int8": kit.times(int8), "images": tested(), "rows": len(llama.rows())}
