"""Advice for a training step: each change is the program that PyTorch would then run, and is offered in the order of what it costs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

import ironlaw as il  # noqa: E402
from ironlaw.backends.optimiser_rewrites import fused, in_lists  # noqa: E402
from ironlaw.calibration import stored_curves  # noqa: E402
from ironlaw.engine.advice.chunked_loss import in_parts  # noqa: E402
from ironlaw.engine.advice.training_advice import ORDER, spares  # noqa: E402
from ironlaw.engine.device import fusion  # noqa: E402
from ironlaw.engine.device.work import UNCOMPILED  # noqa: E402
from ironlaw.systems.advice import REWRITES  # noqa: E402
from ironlaw.tracing.step_choices import captured, choices, one_pass  # noqa: E402

H200, COMPILED = il.hardware("h200_sxm"), il.Plan("compiled")


class Net(nn.Module):
    def __init__(self, width: int = 64, again: bool = False) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width)) for _ in range(3))
        self.again = again

    def forward(self, x: Any) -> Any:
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=self.again == "reentrant") if self.again else block(x)
        return x


def stepped(net: nn.Module, parts: int = 1, autocast: bool = False, flag: bool | None = None, **options: Any) -> Any:
    optimiser = torch.optim.AdamW(net.parameters(), **options)

    def step(x: Any) -> None:
        for part in x.chunk(parts):
            with torch.autocast("cuda", torch.bfloat16, enabled=autocast if flag is None else flag):
                loss = net(part).square().mean()
            loss.backward()
        optimiser.step()
        optimiser.zero_grad()

    return step


X = torch.empty(32, 64)


def kinds(graph: Any) -> list[tuple[str, str]]:
    return [(one.kind, one.outputs[0].dtype) for one in graph.ops]


def test_autocast_is_the_step_that_the_user_would_write():
    plain, written = il.capture(stepped(Net()), (X,)), il.capture(stepped(Net(), autocast=True), (X,))
    assert kinds(il.capture(stepped(Net()), (X,), changes=["autocast"])) == kinds(written) != kinds(plain)


@pytest.mark.parametrize(("change", "lists"), [(fused, True), (fused, False), (in_lists, False)])
def test_another_optimiser_leaves_the_plan_of_all_before_it(change: Any, lists: bool, monkeypatch: Any):
    graph = il.capture(stepped(Net(), 2, foreach=lists), (X,))
    other, model = change(graph), H200.model(COMPILED)
    before, prepared = (model.prepare(one, H200) for one in (graph, other))
    whole = fusion.fuse(replace(prepared), model.rules)
    fusion.fuse(before, model.rules)
    monkeypatch.delattr(fusion, "Planner")
    derived = fusion.fuse(prepared, model.rules, before)
    assert derived.groups == whole.groups and derived.verdicts == whole.verdicts
    assert derived.graph.ops == whole.graph.ops and il.predict(other, H200, COMPILED).graph.kernels < len(other.ops)


def test_a_flag_that_switches_autocast_off_is_switched_on():
    assert kinds(il.capture(stepped(Net(), flag=False), (X,), changes=["autocast"])) == kinds(il.capture(stepped(Net(), flag=True), (X,)))


def test_a_module_that_switches_autocast_off_keeps_it_off():
    class Careful(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(64, 64)

        def forward(self, x: Any) -> Any:
            with torch.autocast("cuda", enabled=False):
                return self.inner(x)

    graph = il.capture(stepped(Careful()), (X,), changes=["autocast"])
    assert {one.outputs[0].dtype for one in graph.ops if one.kind in ("linear", "matmul")} == {"fp32"}


@pytest.mark.parametrize("again", [True, "reentrant"])
def test_without_checkpoints_nothing_runs_twice(again: Any):
    x = X.clone().requires_grad_()
    checkpointed = il.capture(stepped(Net(again=again)), (x,))
    assert checkpointed.settings["checkpoints"] == 3 and frozenset({"kept"}) in choices(checkpointed)
    assert kinds(il.capture(stepped(Net(again=again)), (x,), changes=["kept"])) == kinds(il.capture(stepped(Net()), (x,)))


def test_checkpoints_of_every_block_are_those_that_the_user_would_write():
    plain, written = il.capture(stepped(Net()), (X,)), il.capture(stepped(Net(again=True)), (X,))
    changed = il.capture(stepped(Net()), (X,), changes=["again"])
    assert plain.settings["blocks"] == 3 and kinds(changed) == kinds(written) != kinds(plain)
    assert il.predict(changed, H200).memory.total == il.predict(written, H200).memory.total


def test_checkpoints_leave_the_users_model_as_it_was():
    net = Net()
    il.capture(stepped(net), (X,), changes=["again"])
    assert not any("forward" in block.__dict__ for block in net.blocks)


WORDS = torch.empty(8, 512, dtype=torch.long), torch.empty(8, 512, dtype=torch.long)


class Reader(nn.Module):
    def __init__(self, words: int = 40000, width: int = 64, bias: bool = False) -> None:
        super().__init__()
        self.words, self.blocks = nn.Embedding(words, width), nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.head = nn.Linear(width, words, bias=bias)

    def features(self, x: Any) -> Any:
        x = self.words(x)
        for block in self.blocks:
            x = block(x)
        return x


def read(parts: int, autocast: bool, bias: bool) -> Any:
    """A step whose loss takes so many parts of the tokens one after another, computed again on the way back, as PyTorch alone can."""
    with torch.device("meta"):
        net = Reader(bias=bias)
    optimiser = torch.optim.AdamW(net.parameters())

    def of(h: Any, y: Any) -> Any:
        return nn.functional.cross_entropy(net.head(h), y, reduction="sum")

    def step(x: Any, y: Any) -> None:
        with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
            h, y = net.features(x).flatten(0, 1), y.flatten()
            pairs = zip(h.chunk(parts), y.chunk(parts), strict=True)
            loss = of(h, y) if parts == 1 else sum(checkpoint(of, a, b, use_reentrant=False) for a, b in pairs)
        (loss / len(y)).backward()
        optimiser.step()
        optimiser.zero_grad()

    return step


@pytest.mark.parametrize(("autocast", "bias"), [(False, False), (True, True)])
def test_a_loss_in_parts_takes_the_memory_of_one_that_is_written_so(autocast: bool, bias: bool):
    """And the FLOPs of the whole one, for nothing is computed twice."""
    whole, written = (il.capture(read(parts, autocast, bias), WORDS) for parts in (1, 8))
    parted = in_parts(whole)
    assert parted is not None and in_parts(parted) is None
    assert parted.flops == pytest.approx(whole.flops, rel=1e-3) and written.flops > 1.2 * whole.flops
    before, after, real = (float(il.predict(graph, H200).memory.total) for graph in (whole, parted, written))
    assert after == pytest.approx(real, rel=0.01) and after < 0.5 * before


def test_a_step_that_does_not_fit_is_told_what_frees_memory():
    found = il.analyze(read(1, False, False), tuple(x.repeat(12, 1) for x in WORDS), on="l4", modes=["eager"]).verdict
    assert not found.prediction.fits
    changes = [change for action in found.steps for change in action.changes]
    assert "chunked" in changes and found.steps[-1].after.fits
    assert not any(action.frees for action in found.slower)


def test_one_micro_batch_is_the_step_with_the_whole_batch():
    """Captured with four micro-batches of the size that all of them have now, and cut to one."""
    accumulated = il.capture(stepped(Net(), parts=4), (X,))
    assert len(accumulated.settings["backwards"]) == 4 and frozenset({"together"}) in choices(accumulated)
    cut = captured(accumulated, ["together"], lambda times, changes: il.capture(stepped(Net(), parts=4), (torch.empty(times * 32, 64),)))
    whole = il.capture(stepped(Net()), (X,))
    assert kinds(cut) == kinds(whole) and cut.flops == whole.flops
    assert il.predict(cut, H200).memory.total == pytest.approx(il.predict(whole, H200).memory.total, rel=0.02)


@pytest.mark.parametrize("changes", [["autocast"], ["kept"]])
def test_microbatches_that_are_left_out_are_not_run_again(changes: list[str]) -> None:
    """Op by op the step that is captured whole and then cut; the model's code ran once, the loss is read every time."""
    ran: list[str] = []

    class Counted(Net):
        def forward(self, x: Any) -> Any:
            ran.append("model")
            return super().forward(x)

    def reading(net: nn.Module) -> Any:
        optimiser = torch.optim.AdamW(net.parameters())

        def step(x: Any) -> None:
            for part in x.chunk(4):
                loss = net(part).square().mean()
                ran.append("read" if loss.item() < 1e9 else "")
                loss.backward()
            optimiser.step()
            optimiser.zero_grad()

        return step

    x = (torch.ones(32, 64),)
    whole = one_pass(il.capture(reading(Net(again=True)), x, changes=changes))
    cut = one_pass(il.capture(reading(Counted(again=True)), x, changes=[*changes, "together"]))
    assert cut.ops == whole.ops and cut.settings["entries"] == whole.settings["entries"]
    step = ["model", *4 * ["read"]]
    assert ran[-10:] == [*step, *step]  # the first makes the optimiser's state


def test_models_that_train_by_turns_are_no_microbatches() -> None:
    pairs = [(net, torch.optim.SGD(net.parameters(), 0.1)) for net in (Net(), Net())]

    def step(x: Any) -> None:
        for net, optimiser in pairs:
            optimiser.zero_grad()
            net(x).sum().backward()
            optimiser.step()

    graph = il.capture(step, (X,))
    assert len(graph.settings["backwards"]) == 2 and not any("together" in some for some in choices(graph))


@pytest.mark.parametrize("options", [{}, {"foreach": False}])
def test_a_fused_optimiser_is_the_one_that_pytorch_runs(options: Any):
    rewritten, real = fused(il.capture(stepped(Net(), **options), (X,))), il.capture(stepped(Net(), fused=True), (X,))
    assert rewritten is not None
    one, two = rewritten.ops[-1], real.ops[-1]
    assert (one.work.bytes, one.work.launches, len(one.inputs)) == (two.work.bytes, two.work.launches, len(two.inputs))
    assert il.predict(rewritten, H200).memory.total == pytest.approx(il.predict(real, H200).memory.total, rel=0.01)
    assert fused(real) is None


@pytest.mark.parametrize("make", [torch.optim.Adam, torch.optim.AdamW])
def test_two_models_that_train_against_each_other_have_a_fused_optimiser_each(make: Any):
    """Adam without weight decay reads its weights last of all; what the second model reads of the first is what its optimiser wrote."""

    def turns(**options: Any) -> Any:
        nets = Net(), Net()
        optimisers = [make(net.parameters(), lr=0.1, **options) for net in nets]

        def step(x: Any) -> None:
            for optimiser in optimisers:
                nets[1](nets[0](x)).square().mean().backward()
                optimiser.step()

        return step

    before, real = il.capture(turns(), (X,)), il.capture(turns(fused=True), (X,))
    rewritten = fused(before)
    assert rewritten is not None
    stretches = [[one for one in graph.ops if graph.settings["phases"].get(one.name) == "optimiser"] for graph in (rewritten, real)]
    assert [one.work.bytes for one in stretches[0]] == [one.work.bytes for one in stretches[1]] and len(stretches[0]) == 2
    assert rewritten.settings["backwards"] == real.settings["backwards"]
    assert sum(t.role == "weight" for t in real.tensors.values()) == 2 * 12
    unmade = [
        {t.name for one in graph.ops for t in one.inputs} - {t.name for one in graph.ops for t in one.outputs}
        for graph in (rewritten, before)
    ]
    assert unmade[0] <= unmade[1]


@pytest.mark.parametrize("options", [{"fused": True}, {"foreach": True}])
def test_a_compiled_step_holds_no_second_copy_of_what_its_optimiser_writes(options: Any):
    graph = il.capture(stepped(Net(width=512), **options), (torch.empty(32, 512),))
    eager, compiled = (il.predict(graph, H200, il.Plan(mode=mode)).memory.activations for mode in ("eager", "compiled"))
    assert compiled <= 1.1 * eager


def test_lists_are_those_of_foreach():
    looped, real = in_lists(il.capture(stepped(Net(), foreach=False), (X,))), il.capture(stepped(Net()), (X,))
    assert looped is not None and in_lists(real) is None
    ends = [[one.work.bytes for one in graph.ops if one.kind == "foreach" and one.work.bytes > 100] for graph in (looped, real)]
    assert sorted(ends[0]) == sorted(ends[1])


def test_the_model_is_compiled_with_its_backward_pass_and_the_optimiser_is_not():
    """Also where the step calls backward in a loop, which torch.compile of the whole step would leave to Python."""
    for parts in (1, 2):
        graph = il.capture(stepped(Net(), parts=parts), (X,))
        end = graph.settings["backwards"][-1]
        layers = [one for one in graph.ops[:end] if one.name.startswith("blocks.") and one.kind != "add"]
        assert not any(UNCOMPILED in one.attrs for one in layers) and len(layers) > 20
        assert all(UNCOMPILED in one.attrs for one in graph.ops[end:])
        assert graph.settings["entries"] <= 2 * parts


def test_changes_are_offered_in_order_each_on_top_of_the_one_before():
    found = il.analyze(stepped(Net(width=2048, again=True), foreach=False), (torch.empty(4096, 2048),), on="h200", modes=["eager"]).verdict
    steps = [change for action in found.steps for change in action.changes]
    assert {"autocast", "kept"} <= set(steps) and {"fused", "lists"} & set(steps) and "fp16" not in steps
    assert steps[0] == "autocast" and "machine" not in steps
    for before, after in zip(found.steps, found.steps[1:], strict=False):
        assert after.before is before.after
    assert all(action.gain.sure or spares(action) for action in found.steps)
    assert "model.half()" not in " ".join(action.how for action in found.actions)
    assert [action.changes for action in found.actions[len(found.steps) :]] in ([("devices",)], [("devices",), ("machine",)])  # money last


def test_fp16_is_scaled_where_a_device_has_no_bf16():
    found = il.analyze(Net(width=1024), (torch.empty(4096, 1024),), on="t4", training=True, modes=["eager"])
    first = found.verdict.actions[0]
    assert (
        first.changes[0] == "scaled" and "GradScaler" in first.title and "bf16" not in {t.dtype for t in first.after.graph.tensors.values()}
    )


def test_more_devices_gain_no_more_than_their_number_and_say_what_they_cost():
    found = il.analyze(Net(width=1024), (torch.empty(4096, 1024),), on="h100", training=True, modes=["eager"]).verdict
    (several,) = [action for action in found.actions if action.changes == ("devices",)]
    low, high = several.gain.interval
    assert several.devices == 8 and 1 < low <= several.gain.ratio <= high == 8
    assert several.before is found.steps[-1].after and any("$" in words for words in several.costs)


def test_one_of_another_machine_stands_in_place_of_more_devices():
    found = il.analyze(Net(width=4096), (torch.empty(4096, 4096),), on="a100", training=True, modes=["eager"]).verdict
    assert [action.changes for action in found.actions[-2:]] == [("devices",), ("machine",)]
    step, several, one = found.actions[-3:]
    assert one.title.startswith("or one ") and one.before.graph is step.after.graph
    assert one.gain.before == several.gain.before == step.gain.after


def test_every_change_has_its_words():
    from ironlaw.registry.program_changes import change_words

    assert all(change_words()[change].title and change_words()[change].how for change in ORDER)
    assert set(REWRITES) <= set(ORDER)


def test_a_mask_is_left_out_where_it_keeps_the_fast_kernel_away():
    def attended(q: Any, mask: Any) -> None:
        q = q.requires_grad_()
        nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=mask).sum().backward()

    q, mask = torch.empty(8, 8, 1024, 64, dtype=torch.bfloat16), torch.empty(1024, 1024, dtype=torch.bool)
    graph = il.capture(attended, (q, mask))
    plain = REWRITES["flash"](graph)
    assert plain is not None and il.predict(plain, H200).busy_s < il.predict(graph, H200).busy_s
    assert REWRITES["flash"](replace(plain)) is None


def test_what_fits_no_single_device_is_shared_out():
    """6 B weights in FP32: 24 GB four times over with gradients and AdamW, of which each of two devices holds half."""
    with torch.device("meta"):
        net = nn.Sequential(*(nn.Linear(12288, 12288, bias=False) for _ in range(40)))
    found = il.analyze(net, (torch.empty(64, 12288),), on="h100", training=True, modes=["eager"]).verdict
    (several,) = [action for action in found.actions if action.changes == ("sharded",)]
    half, gathered = 40 * 12288**2 * 4 * 4 / 2, 2 * 12288**2 * 4
    assert not found.prediction.fits and several.devices == 2 and several.gain.interval[0] <= several.gain.ratio <= 2
    needs = float(several.remark.split(" GB on each device")[0])
    assert needs == pytest.approx((half + gathered) / 1e9, rel=0.03)  # and a little for inputs and libraries


def timed_on_the_h200() -> tuple[Any, list[dict[str, Any]]]:
    content = json.loads((Path(__file__).parents[2] / "benchmarks" / "step_costs.json").read_text())
    return stored_curves.host(content["host"]), [row for row in content["rows"] if row["what"] == "checkpoint"]


@pytest.mark.parametrize(("form", "how"), [("none", None), ("not_reentrant", False), ("reentrant", True)])
def test_checkpoints_keep_the_host_as_busy_as_was_measured(form: str, how: bool | None) -> None:
    """24 blocks of tiny operators, forward and backward, that an H200 waits for."""
    host, rows = timed_on_the_h200()
    for row in (one for one in rows if one["form"] == form):
        blocks = [nn.Sequential(*(nn.Tanh() for _ in range(row["ops"]))) for _ in range(row["blocks"])]

        def through(x: Any, blocks: Any = tuple(blocks)) -> None:
            for block in blocks:
                x = block(x) if how is None else checkpoint(block, x, use_reentrant=how)
            x.sum().backward()

        seconds = il.predict(il.capture(through, (torch.empty(32, 32, requires_grad=True),)), H200, il.Plan(host=host)).seconds
        assert seconds == pytest.approx(row["wall_s"], rel=0.3), (form, row["ops"])
