"""Small machines and graphs with figures that are easy to reckon with by hand."""

from __future__ import annotations

from hypothesis import strategies as st

from ironlaw.engine.device.machine import Hardware, Level
from ironlaw.engine.device.types import Graph, Op, Tensor
from ironlaw.engine.device.work import op

# 100 bytes/s, 1000 FLOP/s in fp16 (ridge 10), half a second to launch
MACHINE = Hardware(
    slug="toy",
    backend="cuda",
    name="Toy",
    peaks={"fp16": 1000.0, "fp32": 500.0},
    bandwidth=100.0,
    capacity=10_000.0,
    power=20.0,
    launch=0.5,
    sparse={"fp16": 2000.0},
    levels=(Level("l2", "level 2", 1_000.0, 400.0),),
)


def tensor(name: str, *shape: object, dtype: str = "fp16", role: str = "activation") -> Tensor:
    return Tensor(name, shape, dtype, role)


def chain(*kinds: str, shape: tuple[object, ...] = (4, 8), dtype: str = "fp16") -> Graph:
    """x -> kind -> kind -> …, all of one shape; tensors are x, t0, t1, …, ops are 0:kind, 1:kind, …"""
    before, ops = Tensor("x", shape, dtype, "input"), []
    for i, kind in enumerate(kinds):
        after = Tensor(f"t{i}", shape, dtype)
        ops.append(op(kind, f"{i}:{kind}", [before], [after]))
        before = after
    return Graph("chain", tuple(ops), dtype)


UNARY = ("relu", "gelu", "exp", "layer_norm", "softmax", "copy")
BINARY = ("add", "mul")


@st.composite
def graphs(draw: st.DrawFn, most: int = 10) -> Graph:
    """A random DAG of element-wise ops, norms, reductions, matmuls, views and copies, several of whose tensors are read more than once."""
    rows, columns = draw(st.sampled_from([(4, 8), (200, 64), (64, 64)]))
    pool = [Tensor("x", (rows, columns), "fp16", "input")]  # full size
    scalars: list[Tensor] = []
    ops: list[Op] = []
    for i in range(draw(st.integers(1, most))):
        pick = st.integers(max(0, len(pool) - 3), len(pool) - 1)  # recent ones, so that branches meet again soon
        a = pool[draw(pick)]
        choice = draw(st.sampled_from(["unary", "unary", "binary", "binary", "linear", "sum", "row", "view", "dropout", "scaled"]))
        y = Tensor(f"t{i}", (rows, columns), "fp16")
        if choice == "unary":
            kind = draw(st.sampled_from(UNARY))
            ops.append(op(kind, f"{i}:{kind}", [a], [y]))
        elif choice == "binary":
            kind = draw(st.sampled_from(BINARY))
            ops.append(op(kind, f"{i}:{kind}", [a, pool[draw(pick)]], [y]))
        elif choice == "linear":
            weight = Tensor(f"w{i}", (columns, columns), "fp16", "weight")
            ops.append(op("linear", f"{i}:linear", [a, weight], [y]))
        elif choice == "view":
            ops.append(op("view", f"{i}:view", [a], [y]))
        elif choice == "dropout":
            mask = Tensor(f"m{i}", (rows, columns), "bool")
            ops.append(op("dropout", f"{i}:dropout", [a], [y, mask]))
        elif choice == "scaled" and scalars:
            ops.append(op("mul", f"{i}:mul", [a, scalars[-1]], [y]))
        else:
            over = "row" if choice == "row" else "all"
            y = Tensor(f"t{i}", (rows, 1) if over == "row" else (1,), "fp16")
            ops.append(op("sum", f"{i}:sum", [a], [y], over=over))
            scalars.append(y)
            continue
        pool.append(y)
    last = ops[-1].outputs[0].name
    others = [t.name for o in ops[:-1] for t in o.outputs]
    extra = draw(st.lists(st.sampled_from(others), max_size=2, unique=True)) if others else []
    return Graph("random", tuple(ops), "fp16", outputs=(*extra, last))
