"""Decompositions and solves as capture writes them down: which matrices, how many, for how many right-hand sides."""

import pytest

torch = pytest.importorskip("torch")
from torch import linalg  # noqa: E402

import ironlaw as il  # noqa: E402
from ironlaw.engine.device.work.solver_work import sizes  # noqa: E402

CALLS = {
    "cholesky": (linalg.cholesky, [("cholesky", (3, 6, 6, 0))]),
    "lu_factor": (linalg.lu_factor, [("lu", (3, 6, 6, 0))]),
    "lu": (linalg.lu, [("lu", (3, 6, 6, 0))]),
    "inv": (linalg.inv, [("inverse", (3, 6, 6, 0))]),
    "solve": (lambda a: linalg.solve(a, a[..., :2]), [("solve", (3, 6, 6, 2))]),
    "solve a vector each": (lambda a: linalg.solve(a, a[..., 0]), [("solve", (3, 6, 6, 1))]),
    "solve from the right": (lambda a: linalg.solve(a, a[..., :2, :], left=False), [("solve", (3, 6, 6, 2))]),
    "solve_triangular": (lambda a: linalg.solve_triangular(a, a[..., :2], upper=False), [("triangular", (3, 6, 6, 2))]),
    "triangular_solve": (lambda a: torch.triangular_solve(a[..., :2], a), [("triangular", (3, 6, 6, 2))]),
    "cholesky_solve": (lambda a: torch.cholesky_solve(a[..., :2], a), [("cholesky_solve", (3, 6, 6, 2))]),
    "cholesky_inverse": (torch.cholesky_inverse, [("cholesky_solve", (3, 6, 6, 6))]),
    "lu_solve": (lambda a: linalg.lu_solve(*linalg.lu_factor(a), a[..., :2]), [("lu", (3, 6, 6, 0)), ("lu_solve", (3, 6, 6, 2))]),
    "det": (linalg.det, [("det", (3, 6, 6, 0))]),
    "slogdet": (linalg.slogdet, [("det", (3, 6, 6, 0))]),
    "qr": (linalg.qr, [("qr", (3, 6, 6, 0))]),
    "qr of a tall one": (lambda a: linalg.qr(a[..., :4]), [("qr", (3, 6, 4, 0))]),
    "R alone": (lambda a: linalg.qr(a, mode="r"), [("triangle", (3, 6, 6, 0))]),
    "eigh": (linalg.eigh, [("eigh", (3, 6, 6, 0))]),
    "eigvalsh": (linalg.eigvalsh, [("eigvalsh", (3, 6, 6, 0))]),
    "svd": (linalg.svd, [("svd", (3, 6, 6, 0))]),
    "svdvals of a wide one": (lambda a: linalg.svdvals(a[..., :4, :]), [("svdvals", (3, 6, 4, 0))]),
    "pinv": (linalg.pinv, [("svd", (3, 6, 6, 0))]),
    "pinv of a symmetric one": (lambda a: linalg.pinv(a, hermitian=True), [("eigh", (3, 6, 6, 0))]),
    "lstsq": (lambda a: linalg.lstsq(a[..., :4], a[..., :2])[0], [("lstsq", (3, 6, 4, 2))]),
    "matrix_exp": (linalg.matrix_exp, [("matrix_exp", (3, 6, 6, 0))]),
    "eig": (linalg.eig, [("eig", (3, 6, 6, 0))]),
    "geqrf": (torch.geqrf, [("triangle", (3, 6, 6, 0))]),
}


def solvers(graph):
    return [(op.attrs["how"], sizes(op.inputs, op.attrs["how"])) for op in graph.ops if op.kind == "solver"]


@pytest.mark.filterwarnings("ignore:torch.triangular_solve")
@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_a_solver_with_its_sizes_wherever_its_tensors_are(name):
    call, expected = CALLS[name]
    graph = il.capture(call, (torch.randn(3, 6, 6),))
    assert solvers(graph) == expected and not graph.settings["unknown"]
    without_data = il.capture(call, (torch.empty(3, 6, 6, device="meta"),))
    assert [op.key for op in without_data.ops] == [op.key for op in graph.ops]


def test_a_pseudoinverse_is_a_decomposition_and_a_product():
    graph = il.capture(linalg.pinv, (torch.randn(3, 8, 4),))
    assert [op.kind for op in graph.ops] == ["solver", "compare", "div", "select", "mul", "bmm"]
    assert graph.ops[-1].outputs[0].shape == (3, 4, 8) and graph.ops[-1].work.flops == 3 * 2 * 4 * 4 * 8


class Gap(torch.nn.Module):
    def __init__(self, call):
        super().__init__()
        self.call, self.square = call, torch.nn.Parameter(torch.eye(6).repeat(3, 1, 1))

    def forward(self, x):
        return self.call(self.square @ self.square.mT, x).sum()


@pytest.mark.parametrize(
    ("call", "hows"),
    [
        (linalg.solve, ["solve", "lu_solve"]),
        (lambda a, x: linalg.cholesky(a), ["cholesky", "triangular", "triangular"]),
        (lambda a, x: linalg.inv(a), ["inverse"]),
        (lambda a, x: linalg.eigvalsh(a), ["eigh"]),
        (lambda a, x: linalg.qr(a)[1], ["qr", "triangular"]),
    ],
)  # fmt: skip
def test_a_gradient_is_atens_own_formula(call, hows):
    graph = il.capture(Gap(call), (torch.randn(3, 6, 2),), training=True)
    assert [how for how, _ in solvers(graph)] == hows and not graph.settings["unknown"]


def test_a_compiler_leaves_it_to_the_library():
    graph = il.capture(lambda a: linalg.inv(a * 2).abs(), (torch.empty(3, 6, 6),))
    assert [op.kind for op in il.fuse(graph).graph.ops] == [op.kind for op in graph.ops] == ["scale", "solver", "abs"]
