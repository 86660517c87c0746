"""The call itself, and a training step around it, on fake tensors and under the recorder."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ironlaw.errors import BadValue
from ironlaw.tracing import changed_steps, fused_replacements, value_requests
from ironlaw.tracing.adapters import EIGHT_BIT, EightBit
from ironlaw.tracing.encoder_layers import native_layers
from ironlaw.tracing.equal_passes import repeating
from ironlaw.tracing.fakes import Fakes
from ironlaw.tracing.first_steps import FirstSteps
from ironlaw.tracing.gpu_ops import AsOnGpu
from ironlaw.tracing.graph_breaks import GRADIENT
from ironlaw.tracing.libraries import as_if_real, replaced
from ironlaw.tracing.paths import module_paths
from ironlaw.tracing.real_tensors import as_plain
from ironlaw.tracing.rehearsal import Rehearsal
from ironlaw.tracing.skipped_microbatches import skipping
from ironlaw.tracing.stand_ins import vocabulary_of
from ironlaw.tracing.triton_launches import triton_launches


@contextmanager
def recording(
    fakes: Fakes, modules: list[torch.nn.Module], grad: bool, changes: Collection[str] = (), alike: bool = False
) -> Iterator[None]:
    """`changes`: of `changed_steps`. `alike`: passes that are equal are captured once."""
    with ExitStack() as stack:
        stack.enter_context(changed_steps.counted(fakes.recorder))
        stack.enter_context(changed_steps.changed(changes, modules))
        skipped: Any = stack.enter_context(skipping(changes, modules))
        if skipped is None and alike:
            skipped = stack.enter_context(repeating(fakes.recorder, modules))
        fakes.recorder.skipped = skipped
        fakes.recorder.blocks = len(changed_steps.blocks(modules))
        stack.enter_context(torch.set_grad_enabled(grad))
        stack.enter_context(fakes.mode)
        stack.enter_context(fakes.recorder)
        stack.enter_context(triton_launches(fakes.recorder))
        stack.enter_context(fakes.recorder.phases.watching())
        if torch.backends.mha.get_fastpath_enabled():
            stack.enter_context(native_layers(fakes.recorder))
        library = stack.enter_context(as_if_real())
        leaving, moved = (partial(call, fakes.recorder) for call in (value_requests.leaving, value_requests.moved))
        on_gpu = AsOnGpu(library, leaving, moved, fakes.recorder.adopt)
        stack.enter_context(replaced(torch.cuda, "synchronize", partial(value_requests.drained, fakes.recorder)))
        engine: Any = torch.autograd.graph._engine_run_backward

        def backward(*args: Any, **kwargs: Any) -> Any:
            fakes.recorder.graph_break(GRADIENT)
            with on_gpu, changed_steps.beyond_autocast(changes):  # what is run again (checkpoints) is run as on a GPU too
                out = skipped.backward(lambda: engine(*args, **kwargs)) if skipped else engine(*args, **kwargs)
            fakes.recorder.backwards.append(len(fakes.recorder.ops))
            fakes.recorder.lifetimes.ask_all()
            return out

        stack.enter_context(replaced(torch.autograd, "_engine_run_backward", backward))
        stack.enter_context(on_gpu)
        stack.callback(lambda: fakes.recorder.seen(library))
        for module in modules:
            fakes.recorder.values.vocabulary = vocabulary_of(module)
            stack.enter_context(module_paths(module, fakes.recorder.path))
        yield


def run(
    function: Any, fakes: Fakes, args: tuple[Any, ...], kwargs: dict[str, Any], before: Rehearsal, changes: Collection[str] = ()
) -> Any:
    """What the call returns. Of a function that holds an optimiser what a second run does counts, since the first step makes the state."""
    grad = before.graded
    modules, optimisers = fused_replacements.reachable(function, *args, *kwargs.values())
    with fused_replacements.as_fakes(fakes, modules, optimisers):
        args, kwargs = fakes.call_inputs(function, args, kwargs, grad)
        resumed = grad and before.resumed(fakes, optimisers)
        fakes.recorder.first = dict(fakes.recorder.names)
        with recording(fakes, modules, grad, changes, grad and before.alike):
            call = changed_steps.cast(function, changes, fakes.recorder.path)
            if grad and optimisers and not resumed:
                first = FirstSteps(fakes, function, [] if changes else optimisers)
                fakes.recorder.rehearsing = not first.alone
                with first.taken():
                    out = call(*args, **kwargs)
                enough = first.suffice(out)
                if not enough:
                    fakes.recorder.begin_again()
                    fused_replacements.named_state(fakes, optimisers)
                with as_plain():
                    before.note(optimisers)
                if enough:
                    return out
                del out
            return call(*args, **kwargs)


def step(module: torch.nn.Module, fakes: Fakes, args: tuple[Any, ...], kwargs: dict[str, Any], changes: Collection[str] = ()) -> Any:
    """Forward, backward, and AdamW as PyTorch runs it by default on a GPU; gives the loss."""
    weights = [w for w in fakes.state(module).values() if isinstance(w, torch.nn.Parameter) and w.requires_grad]
    weights = list({id(w): w for w in weights}.values())
    if not weights:
        raise BadValue("no weight of the module needs a gradient, so there is nothing to train; set requires_grad")
    with fused_replacements.as_fakes(fakes, [module], []):
        args, kwargs = fakes.call_inputs(module, args, kwargs)
        with recording(fakes, [module], grad=True, changes=changes):
            loss = loss_of(changed_steps.cast(module, changes, fakes.recorder.path)(*args, **kwargs))
            loss.backward()
    trained = [w for w in weights if w.grad is not None]
    optimiser = EightBit(trained) if EIGHT_BIT in changes else torch.optim.AdamW(trained, foreach=True)
    with fakes.mode:
        optimiser.step()  # the first one makes its state
    fused_replacements.named_state(fakes, [optimiser])
    with recording(fakes, [module], grad=False):
        optimiser.step()
    return loss


def loss_of(out: Any) -> Any:
    loss = getattr(out, "loss", None)
    if loss is None and isinstance(out, dict):
        loss = out.get("loss")
    if loss is not None:
        return loss
    trained = [t for t in pytree.tree_leaves(out) if isinstance(t, torch.Tensor) and t.requires_grad]
    alone = [t for t in trained if t.numel() == 1]
    if len(alone) == 1:  # its own loss, whatever else it hands back
        return alone[0]
    sums = [t.float().sum() for t in trained]
    if not sums:
        raise BadValue(
            "nothing that the module returns depends on its weights, so there is no loss to train on; return an output of a layer"
        )
    return sum(sums[1:], sums[0])


def script(go: Any, fakes: Fakes, changes: Collection[str] = (), alike: bool = False) -> None:
    """A whole script, whose models and optimisers are made on the way."""
    with recording(fakes, [], True, changes, alike):
        changed_steps.cast(go, changes, fakes.recorder.path)()
