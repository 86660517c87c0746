"""What a GPU runs otherwise than a processor: gradients of products along an axis, recurrent cells, losses. Kernel names and counts are
those of torch.profiler on an H200 (PyTorch 2.11)."""

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

import ironlaw as il  # noqa: E402
from ironlaw.tracing.gpu_gradients import Product, RunningProduct  # noqa: E402


def kinds(graph):
    return [op.kind for op in graph.ops]


def test_gradients_of_products_are_those_that_pytorch_computes():
    x = torch.rand(3, 5, dtype=torch.float64) + 0.1
    for ours, theirs in ((RunningProduct, torch.cumprod), (Product, lambda t, d: torch.prod(t, d, keepdim=True))):
        a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
        weights = torch.rand_like(theirs(x, 1))
        (ours.apply(a, 1) * weights).sum().backward()
        (theirs(b, 1) * weights).sum().backward()
        assert torch.allclose(a.grad, b.grad)


class Products(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(64, 64)

    def forward(self, x):
        return self.layer(x).cumprod(-1).sum()


def test_the_gradient_of_a_running_product_is_one_running_sum():
    graph = il.capture(Products(), (torch.empty(8, 64, device="meta"),), training=True)
    backward = [op.name for op in graph.ops if op.name.partition(".")[0] in ("cumprod", "cumsum", "flip", "prod")]
    assert backward == ["cumprod", "flip", "cumsum", "flip.2"]


class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru, self.lstm = nn.GRUCell(32, 64), nn.LSTMCell(32, 64)

    def forward(self, x, h):
        state, cell = self.lstm(x, (self.gru(x, h), h))
        return state + cell


def test_a_cell_is_two_products_and_one_kernel():
    call = torch.empty(8, 32), torch.empty(8, 64)
    graph = il.capture(Cells(), call)
    assert kinds(graph) == ["linear", "linear", "silu"] * 2 + ["add"]
    trained = il.capture(Cells(), call, training=True)
    assert kinds(trained).count("silu") == 4
    assert not trained.settings["unknown"]
    assert kinds(trained).count("sum") == 5  # the loss, and a sum for each of four biases


@pytest.mark.parametrize(
    ("loss", "launches"), [(functional.mse_loss, 2), (functional.smooth_l1_loss, 2), (functional.binary_cross_entropy_with_logits, 5)]
)
def test_a_loss_is_its_passes_and_a_mean(loss, launches):
    x = torch.empty(4, 16)
    graph = il.capture(loss, (x, x))
    assert len(graph.ops) == launches
    assert graph.ops[-1].kind == "mean"
    assert graph.ops[-1].attrs["over"] == "all"
    assert not graph.settings["unknown"]
    apart = il.capture(lambda a, b: loss(a, b, reduction="none"), (x, x))
    assert len(apart.ops) == launches - 1


def test_choosing_by_a_mask_says_whose_place_is_taken():
    graph = il.capture(lambda a: (torch.nonzero(a > 0), torch.diag_embed(a[..., 0])), (torch.randn(5, 4, 4),))
    assert not graph.settings["unknown"]
    assert {op.attrs["stand_in"] for op in graph.ops if "stand_in" in op.attrs} == {"nonzero"}


def test_a_scan_knows_its_axis():
    graph = il.capture(lambda x: (x.cumsum(0), x.cumsum(-1)), (torch.empty(4096, 16),))
    assert [op.attrs.get("axis") for op in graph.ops] == [0, None]
    down, along = (row.seconds for row in il.predict(graph, il.hardware("h200")).ops)
    assert down > 5 * along


def test_what_the_code_keeps_without_data_lies_where_the_rest_does():
    with torch.device("meta"):
        places, edges, values = torch.randint(8, (4, 3)), torch.empty(6), torch.empty(4, 8)
    calls = {
        "gather": lambda x: torch.take_along_dim(x, places, 1),
        "mul": lambda x: torch.mul(*torch.meshgrid(x[0], edges, indexing="ij")),
        "_fft_r2c": lambda x: torch.stft(x.flatten(), 6, window=edges, center=False, return_complex=True),
        "add": lambda x: torch.add(input=x, other=values),
    }
    for name, call in calls.items():
        graph = il.capture(call, (torch.empty(4, 8),))
        assert name in [op.name for op in graph.ops], name
        assert "buffer" in {t.role for op in graph.ops for t in op.inputs}, name


def test_where_a_tensor_is_split_may_be_a_tensor():
    graph = il.capture(lambda x: [part.exp() for part in torch.tensor_split(x, torch.tensor([2, 4]), 1)], (torch.empty(4, 8),))
    assert [op.outputs[0].shape for op in graph.ops if op.kind == "exp"] == [(4, 2), (4, 2), (4, 4)]


def test_distances_are_a_product_with_two_more_columns() -> None:
    """`torch.cdist` of more than 25 rows (ATen, Distance.cpp): eleven kernels."""
    graph = il.capture(torch.cdist, (torch.empty(2, 40, 3), torch.empty(2, 50, 3)))
    kinds = [op.kind for op in graph.ops]
    assert sorted(kinds) == sorted(["square", "sum", "fill"] * 2 + ["scale", "cat", "cat", "bmm", "relu", "sqrt"])
    (product,) = (op for op in graph.ops if op.kind == "bmm")
    assert product.work.matmul_flops == 2 * 2 * 40 * 50 * (3 + 2)
    assert graph.tensors[graph.outputs[0]].shape == (2, 40, 50) and not graph.settings["unknown"]


def test_a_sort_goes_along_its_axis() -> None:
    graph = il.capture(lambda x: x.sort(dim=1)[0], (torch.empty(2, 4, 8, 8),))
    (op,) = (op for op in graph.ops if op.kind == "topk")
    assert op.inputs[0].shape == op.outputs[0].shape == (128, 4)
    (op,) = (op for op in il.capture(lambda x: x.topk(3)[0], (torch.empty(2, 4, 8, 8),)).ops if op.kind == "topk")
    assert (op.inputs[0].shape, op.outputs[0].shape) == ((2, 4, 8, 8), (2, 4, 8, 3))


def test_the_gradient_of_samples_adds_to_the_image_and_reads_it() -> None:
    class Warped(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.x, self.grid = torch.nn.Parameter(torch.empty(2, 16, 64, 64)), torch.nn.Parameter(torch.empty(2, 64, 64, 2))

        def forward(self, scale: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.grid_sample(self.x * scale, self.grid, align_corners=False)

    step = il.capture(Warped(), (torch.empty(1),), training=True)
    (op,) = (op for op in step.ops if op.attrs.get("stand_in") == "grid_sampler_backward")
    assert [t.shape for t in op.outputs] == [(2, 16, 64, 64), (2, 64, 64, 2)]
    kernels = {k.curve for k in il.hardware("h200_sxm").model(il.Plan()).library.lower(op, il.hardware("h200_sxm"), "eager") if k.count}
    assert kernels == {"grid_sample", "upsample_bilinear_backward", "fill"}
