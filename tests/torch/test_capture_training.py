"""Training steps as their authors wrote them: the backward pass, the optimiser, autocast, accumulation and checkpointing are captured as
they stand, and nothing of the user's is changed."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

import ironlaw as il  # noqa: E402
from ironlaw.engine.device.types import Graph  # noqa: E402

X = torch.empty(4, 64, device="meta")
PRODUCT = 2 * 4 * 64 * 64  # FLOPs of one layer
WEIGHTS = 2 * (64 * 64 + 64) * 4  # bytes

model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 64))
optimiser = torch.optim.AdamW(model.parameters())


def step(x: Any) -> Any:
    optimiser.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimiser.step()
    return loss


def accumulated(x: Any) -> None:
    optimiser.zero_grad()
    for _ in range(3):
        model(x).square().mean().backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()


def mixed(x: Any) -> None:
    scaler = torch.amp.GradScaler("cuda")
    optimiser.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(x).square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimiser)
    scaler.update()


def kinds(graph: Graph) -> list[str]:
    assert graph.settings["unknown"] == {}
    return [op.kind for op in graph.ops]


@pytest.fixture
def untouched():
    before = [w.clone() for w in model.parameters()]
    yield
    assert all(torch.equal(a, b) and b.grad is None for a, b in zip(before, model.parameters(), strict=True))
    assert not optimiser.state and optimiser.param_groups[0]["params"][0] is model[0].weight


def test_a_step_is_what_capture_makes_of_the_module(untouched: None) -> None:
    """The same products and the same eight passes of AdamW over all weights as with `training=True`."""
    own, ours = il.capture(step, (X,)), il.capture(model, (X,), training=True)
    assert own.flops == ours.flops == 2 * PRODUCT + 3 * PRODUCT  # the input of the first layer needs no gradient
    assert own.settings["training"] and kinds(own).count("foreach") == kinds(ours).count("foreach") == 8
    assert kinds(own).count("dropout") == kinds(ours).count("dropout") == 1
    memory = il.predict(own, il.hardware("h200_sxm")).memory
    assert memory.weights == pytest.approx(3 * WEIGHTS, rel=0.01)  # AdamW keeps two more of each


def test_models_and_optimisers_may_be_arguments_or_attributes(untouched: None) -> None:
    class Trainer:
        def __init__(self) -> None:
            self.net, self.steps = model, optimiser

        def step(self, x: Any) -> None:
            self.net(x).square().mean().backward()
            self.steps.step()
            self.steps.zero_grad()

    def given(net: Any, steps: Any, x: Any) -> None:
        net(x).square().mean().backward()
        steps.step()
        steps.zero_grad()

    assert il.capture(Trainer().step, (X,)).flops == il.capture(given, (model, optimiser, X)).flops == 5 * PRODUCT


def test_accumulation_adds_gradients(untouched: None) -> None:
    """Three passes; the second and third add to four gradients each."""
    graph = il.capture(accumulated, (X,))
    assert graph.flops == 3 * 5 * PRODUCT and kinds(graph).count("add") == 2 * 4


def test_autocast_runs_and_is_headed_in_half_precision(untouched: None) -> None:
    graph = il.capture(mixed, (X,))
    products = [op for op in graph.ops if op.kind in ("matmul", "linear")]
    assert graph.dtype == "fp16" and len(products) == 5 and {op.dtype for op in products} == {"fp16"}
    assert kinds(graph).count("foreach") == 8 + 1  # the ninth looks for infinities and undoes the scale


def test_autocast_without_a_format_takes_the_gpus() -> None:
    def cast(x: Any) -> Any:
        with torch.autocast("cuda"):
            return x @ x.T

    assert [op.dtype for op in il.capture(cast, (X,)).ops if op.kind == "matmul"] == ["fp16"]


class Checked(nn.Module):
    def __init__(self, reentrant: bool) -> None:
        super().__init__()
        self.first, self.inner, self.reentrant = nn.Linear(64, 64), nn.Linear(64, 64), reentrant

    def forward(self, x: Any) -> Any:
        return checkpoint(lambda h: torch.relu(self.inner(h)), self.first(x), use_reentrant=self.reentrant)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointing_on_the_meta_device(reentrant: bool) -> None:
    """Forward two products, backward three, and the inner one once more."""
    with torch.device("meta"):
        module = Checked(reentrant)
    assert il.capture(module, (X,), training=True).flops == 6 * PRODUCT


def test_checkpointing_of_transformers() -> None:
    transformers = pytest.importorskip("transformers")
    small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32, "vocab_size": 50}
    config = transformers.LlamaConfig(**small)
    ids = torch.empty(1, 8, dtype=torch.long, device="meta")

    def flops(checked: bool) -> float:
        with torch.device("meta"):
            module = transformers.LlamaForCausalLM(config).train()
        if checked:
            module.gradient_checkpointing_enable()
        return float(il.capture(module, (ids,), {"use_cache": False}, training=True).flops)

    with torch.device("meta"):
        inside = transformers.LlamaModel(config).eval()
    layers = il.capture(inside, (ids,), {"use_cache": False}).flops
    last = 2 * (2 * 8 * 32 * 32)  # of each layer: nothing needs its result, so that PyTorch stops before it
    assert flops(True) - flops(False) == layers - last


def test_batch_norm_keeps_its_statistics_in_training() -> None:
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))
    graph = il.capture(net.train(), (torch.empty(2, 3, 8, 8),), training=True)
    assert "batch_norm_train" in kinds(graph) and net[1].num_batches_tracked == 0


def test_an_empty_weight_costs_the_optimiser_nothing() -> None:
    class Net(nn.Module):
        def __init__(self, registers: int | None) -> None:
            super().__init__()
            self.line = nn.Linear(8, 8)
            if registers is not None:
                self.registers = nn.Parameter(torch.empty(1, registers, 8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.line(x)
            return torch.cat([self.registers, y], 1) if hasattr(self, "registers") else y

    def steps(registers: int | None) -> list[tuple[str, int]]:
        graph = il.capture(Net(registers), (torch.empty(1, 4, 8),), training=True)
        return [(op.kind, len(op.inputs)) for op in graph.ops if op.kind == "foreach"]

    assert steps(0) == steps(None) and steps(0) != steps(2)


def test_a_step_captured_again_is_the_same_without_a_rehearsal():
    from ironlaw.tracing.capture import captured
    from ironlaw.tracing.rehearsal import Rehearsal

    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    optimiser = torch.optim.AdamW(net.parameters())
    runs = []

    def step(x):
        runs.append(1)
        net(x).sum().backward()
        optimiser.step()
        optimiser.zero_grad()

    def leaves_gradients(x):
        optimiser.zero_grad(set_to_none=False)
        net(x).sum().backward()
        optimiser.step()

    for function in (step, leaves_gradients):
        before = Rehearsal()
        first = captured(function, (torch.empty(2, 8),), before=before)
        assert before.graded and (before.states is not None) == (function is step)
        again = captured(function, (torch.empty(2, 8),), before=before)
        assert again.ops == first.ops and again.settings["held"] == first.settings["held"]
    assert len(runs) == 2  # the optimiser alone makes its state; then one more


def test_a_function_that_names_a_backward_pass_and_takes_none_is_no_training_step():
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))

    def scored(x, train=False):
        out = net(x).sum()
        if train:
            out.backward()
        return out

    def plain(x):
        return net(x).sum()

    named, other = (il.capture(function, (torch.empty(2, 8),)) for function in (scored, plain))
    assert named.ops == other.ops and named.settings["training"] is False


def test_a_function_whose_backward_pass_is_elsewhere_is_a_training_step_too():
    net = nn.Linear(8, 4)
    tools = {"finish": torch.Tensor.backward}

    def step(x):
        tools["finish"](net(x).sum())

    assert "backward" not in step.__code__.co_names and il.capture(step, (torch.empty(2, 8),)).settings["training"]
