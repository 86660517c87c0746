"""What to capture, named as text: `model.py:net`, `package.module:net`, or `hf:LlamaConfig` for a model of transformers built from its
configuration.

A name in a file may be an nn.Module, a class of one (called without arguments), a function that returns one, or the function to
capture itself. Its inputs come from the caller as shapes, or from `NAME_inputs` or `example_inputs` beside it: a tensor, a
tuple of arguments, a dictionary of keywords, or a function that gives one of these.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from ironlaw.errors import BadValue, MissingExtra, unknown
from ironlaw.formats import FORMATS, MODEL_FORMATS
from ironlaw.tracing.decoding import in_phase
from ironlaw.tracing.hugging_face import hugging_face
from ironlaw.tracing.suggest import check_inputs
from ironlaw.tracing.target import Target, changed, described, empty, tensor
from ironlaw.tracing.user_modules import names_of, on_any_machine


def load(
    text: str,
    shapes: Sequence[str] = (),
    batch: int | None = None,
    dtype: str | None = None,
    seq: int | None = None,
    settings: dict[str, Any] | None = None,
    device: str = "meta",
    training: bool = False,
    phase: tuple[str, int] | None = None,
) -> Target:
    """The call that `text` means. Models are built on the meta device, without their weights.

    `phase`: of a language model of transformers, a prompt ("prefill", tokens) or a step ("decode", tokens in the cache).

    With another `device` the model is built there, weights and all, to be run; inputs given as shapes stay without values. A module comes
    in the mode of a forward pass, or with `training` in that of a training step.
    """
    try:
        import torch
    except ImportError:
        raise MissingExtra("analyze needs PyTorch to read a model; install it with: pip install torch") from None
    if dtype is not None and dtype not in MODEL_FORMATS:
        raise BadValue(f"a model can't be converted to {dtype}; give fp64, fp32, fp16 or bf16")
    before = torch.get_default_dtype()
    if dtype is not None:
        torch.set_default_dtype(FORMATS[dtype].in_torch(torch))
    try:
        target = hugging_face(text[3:], settings or {}, seq, device) if text.startswith("hf:") else from_file(text, settings or {}, device)
    finally:
        torch.set_default_dtype(before)
    if shapes:
        target.args, target.kwargs = tuple(tensor(shape) for shape in shapes), {}
    if isinstance(target.call, torch.nn.Module):
        target.call = _prepared(target.call, dtype, device, training)
    if phase is not None:
        target = in_phase(target, *phase)
    check_inputs(target)
    return fitted(target, batch, dtype)


def _prepared(module: Any, dtype: str | None, device: str, training: bool = False) -> Any:
    import torch

    try:
        with suppress(NotImplementedError):  # an exported one has its mode built in
            module = module.train() if training else module.eval()
        if dtype is not None:
            return module.to(device=device, dtype=FORMATS[dtype].in_torch(torch))
        return module.to(device=device) if device != "meta" else module
    except Exception as error:
        as_what = f" in {dtype}" if dtype else ""
        raise BadValue(
            f"the model can't be moved to {device}{as_what}: {described(error)}; fix its train(), eval() or to(), or give another --dtype"
        ) from error


def fitted(target: Target, batch: int | None, dtype: str | None) -> Target:
    """Inputs with another first size or format, those inside a cache of keys and values too."""
    import torch

    def change(leaf: Any) -> Any:
        shape = (batch, *leaf.shape[1:]) if batch is not None and leaf.dim() else leaf.shape
        fmt = FORMATS[dtype].in_torch(torch) if dtype is not None and leaf.is_floating_point() else leaf.dtype
        return leaf if shape == leaf.shape and fmt == leaf.dtype else empty(shape, fmt)

    target.args, target.kwargs = changed(target.args, change), changed(target.kwargs, change)
    return target


def from_file(text: str, settings: dict[str, Any], device: str = "meta") -> Target:
    import torch

    if text.endswith(".pt2"):
        return exported(text)
    place, _, name = text.rpartition(":")
    if not place or not name:
        raise BadValue(
            f"{text!r} does not say what to analyze; write FILE.py:NAME, PACKAGE.MODULE:NAME, or hf:CONFIG such as hf:LlamaConfig"
        )
    names = names_of(place, device)
    if name not in names:
        raise unknown(f"name in {place}", name, [key for key, value in names.items() if not key.startswith("_") and callable(value)])
    if isinstance(names[name], torch.export.ExportedProgram):
        return program(names[name], name, inputs(names, name))
    notes: list[str] = []
    call = instantiate(names[name], name, settings, device, notes)
    args, kwargs = call[1:] if len(call) > 1 else inputs(names, name)
    return Target(name, call[0], args, kwargs, notes)


def exported(text: str) -> Target:
    import torch

    if not Path(text).is_file():
        raise BadValue(f"there is no file {text}; give what torch.export.save wrote")
    try:
        return program(torch.export.load(text), Path(text).stem, ((), {}))
    except Exception as error:
        raise BadValue(f"{text} can't be read: {described(error)}; give what torch.export.save of this PyTorch wrote") from error


def program(exported: Any, name: str, given: tuple[tuple[Any, ...], dict[str, Any]]) -> Target:
    """An exported program, with the inputs that it was exported with where there are no others."""
    args, kwargs = given if any(given) else exported.example_inputs or ((), {})
    return Target(name, exported.module(check_guards=False), tuple(args), dict(kwargs))


def instantiate(value: Any, name: str, settings: dict[str, Any], device: str, notes: list[str]) -> tuple[Any, ...]:
    """(module or function,) or (module, args, kwargs) from whatever stands under the name. What can't be built on the meta device is built
    for real, with a note."""
    import torch

    if isinstance(value, torch.nn.Module):
        return (value,)
    is_class = isinstance(value, type) and issubclass(value, torch.nn.Module)
    if not callable(value):
        raise BadValue(f"{name} is of type {type(value).__name__}; name an nn.Module, a class of one, or a function")
    if not is_class and not _makes(value):
        return (value,)
    try:
        with no_training(name):
            module = build(value, settings, device, notes, name)
    except Trains as error:
        raise BadValue(str(error)) from None
    except Exception as error:
        raise BadValue(f"{name}() fails: {described(error)}; it is called without arguments, or with those of --set") from error
    if isinstance(module, tuple) and module and isinstance(module[0], torch.nn.Module):
        try:
            return module[0], tuple(module[1]) if len(module) > 1 else (), dict(module[2]) if len(module) > 2 else {}
        except (TypeError, ValueError) as error:
            raise BadValue(
                f"{name}() gives a module with arguments that are not a tuple and a dictionary ({error}); return (module, (x,))"
            ) from None
    if not isinstance(module, torch.nn.Module):
        raise BadValue(f"{name}() gives a {type(module).__name__}; it should give an nn.Module, or (module, arguments)")
    return (module,)


def build(value: Any, settings: dict[str, Any], device: str, notes: list[str], name: str) -> Any:
    import torch

    from ironlaw.tracing.initialisation import mark, remembered

    try:
        with torch.device(device), remembered() if device == "meta" else nullcontext() as seen:
            module = value(**settings)
        mark(module[0] if isinstance(module, tuple) and module else module, seen)
        return module
    except Exception as error:
        if device != "meta":
            raise
        try:
            with on_any_machine():
                module = value(**settings)
        except Exception:
            raise error from None
        reason = described(error).splitlines()[0].split(", but")[0]
        notes.append(f"{name}() can't run on the meta device ({reason}); it was built for real, weights and all")
        return module


class Trains(BaseException):
    """A function that was taken for one that makes a model trains it."""


@contextmanager
def no_training(name: str) -> Iterator[None]:
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    def refuse(*_: Any) -> None:
        raise Trains(
            f"{name}() trains a model, and a function without arguments should make one; analyze the script instead (FILE.py without"
            f" :{name}), which trains nothing for real"
        )

    handle = register_optimizer_step_pre_hook(refuse)
    try:
        yield
    finally:
        handle.remove()


def _makes(function: Any) -> bool:
    """A function without required arguments makes a model; one with some is what to capture."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C, and silent about its arguments
        return False
    return not [p for p in parameters if p.default is p.empty and p.kind in kinds]


def inputs(names: dict[str, Any], name: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    import torch

    key = f"{name}_inputs" if f"{name}_inputs" in names else "example_inputs"
    value = names.get(key)
    try:
        if callable(value) and not isinstance(value, torch.Tensor):
            value = value()
        if value is None:
            return (), {}
        if isinstance(value, dict):
            return (), value
        return (value,) if isinstance(value, torch.Tensor) else tuple(value), {}
    except Exception as error:
        raise BadValue(
            f"{key} gives no inputs: {described(error)}; make it a tensor, a tuple of arguments or a dictionary of keywords"
        ) from error
