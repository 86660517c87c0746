"""What fewer bits and fewer weights do to noise and bytes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ironlaw.engine.numerics.grids import factor_per_bit, levels, noise_power, sqnr_db, step
from ironlaw.engine.numerics.storage import bitmap_bytes, csr_breakeven, csr_bytes, nm_storage, stored_bits
from ironlaw.errors import BadValue
from ironlaw.registry.workloads import workload
from ironlaw.systems.fields import custom, several, share, whole
from ironlaw.systems.question import Question, Table
from ironlaw.systems.value_readers import read_whole
from ironlaw.units import significant

if TYPE_CHECKING:
    from ironlaw.outputs.law_output import PrunedStorage, QuantiseJson, QuantiseModel, QuantiseRow

BITS = (8, 7, 6, 5, 4, 3, 2)
MATRIX = 1024  # rows and columns of the matrix that shares are shown for
PATTERN = (2, 4)


@dataclass(frozen=True, repr=False)
class Quantise(Question):
    """Rows by bits; each with the noise of its grid and the bits that a weight takes on disk.

    >>> import ironlaw as il
    >>> q = il.quantise("llama3_8b", bits=[8, 4], group=128)
    >>> [round(row["bytes"] / 1e9, 1) for row in q.rows]
    [9.2, 5.7]
    """

    schema = "ironlaw-quantise/1"
    model: str | None = custom(str, None, flag="MODEL", metavar="MODEL", about="a model of the registry, to count its bytes")
    bits: tuple[int, ...] = several(read_whole, BITS, what="number", metavar="N,N", about="bits per weight, 2 to 16, such as 8,4")
    group: int | None = whole(None, metavar="N", about="weights that share a scale (default: a whole row of the matrix)")
    scale_bits: int = whole(16, metavar="N", about="bits per scale (default 16)")
    zero_bits: int = whole(0, least=0, metavar="N", about="bits per zero point (default: no zero point)")
    pruned: float | None = share(
        None, below=True, metavar="SHARE", about="share of the weights that is zero, to see how many bytes storing the rest takes"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.zero_bits and not self.group:
            raise BadValue("`zero_bits` are stored once per group; add `group`, such as `group=128`")
        if max(self.bits) > 16 or min(self.bits) < 2:
            raise BadValue(f"`bits={','.join(map(str, self.bits))}`: give bits from 2 to 16")

    @cached_property
    def answer(self) -> QuantiseJson:
        params, kept = _model(self.model) if self.model else (0.0, 0.0)
        rows: list[QuantiseRow] = []
        for bits in self.bits:
            stored = stored_bits(bits, self.group or 0, self.scale_bits, self.zero_bits)
            row: QuantiseRow = {
                "bits": bits, "levels": levels(bits), "step": step(1.0, bits), "noise": noise_power(bits), "sqnr_db": sqnr_db(bits),
                "next_bit": factor_per_bit(bits) if bits > 2 else None, "stored_bits": stored,
            }  # fmt: skip
            if self.model:
                row["bytes"] = (params - kept) * stored / 8 + kept * 2
            if self.pruned is not None:
                row["pruned"] = _pruned(bits, self.pruned)
            rows.append(row)
        about: QuantiseModel | None = None
        if self.model:
            about = {"name": self.model, "parameters": params, "kept": kept, "fp16_bytes": 2.0 * params}
        return {"model": about, "group": self.group, "pruned": self.pruned, "rows": rows}

    @property
    def rows(self) -> list[QuantiseRow]:
        return list(self.answer["rows"])

    def table(self) -> Table:
        rows = [(f"{one['bits']}", significant(one["stored_bits"]), f"{one['sqnr_db']:.1f} dB") for one in self.rows]
        return Table(self.model or "weights", ("bits", "stored", "signal over noise"), rows)


def _model(name: str) -> tuple[float, float]:
    """Parameters, and how many of them are kept in FP16: embeddings, the head, and what is not a matrix."""
    graph = workload(name)
    weights = [t for t in graph.tensors.values() if t.role == "weight"]
    ends = {t.name for op in graph.ops if op.kind == "embedding" for t in op.inputs if t.role == "weight"}
    head = {t.name for t in graph.ops[-1].inputs if t.role == "weight"} if graph.ops else set()
    kept = sum(float(t.size) for t in weights if len(t.shape) < 2 or t.name in ends | head)
    return float(graph.params), kept


def _pruned(bits: int, zeros: float) -> PrunedStorage:
    """Shares of the dense bytes of a matrix."""
    dense = MATRIX * MATRIX * bits / 8
    left = (1 - zeros) * MATRIX * MATRIX
    return {
        "csr_32": csr_bytes(MATRIX, left, bits, 32) / dense, "csr_16": csr_bytes(MATRIX, left, bits, 16) / dense,
        "bitmap": bitmap_bytes(MATRIX * MATRIX, left, bits) / dense, "two_of_four": nm_storage(*PATTERN, bits),
        "csr_32_pays_from": csr_breakeven(bits, 32, MATRIX), "csr_16_pays_from": csr_breakeven(bits, 16, MATRIX),
    }  # fmt: skip
