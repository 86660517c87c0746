"""What to capture, named as text: `model.py:net`, or `hf:LlamaConfig` for a model of transformers built from its configuration.

A name in a file may be an nn.Module, a class of one (called without arguments), a function that returns one, or the function to
capture itself. Its inputs come from the caller as shapes, or from `NAME_inputs` or `example_inputs` beside it: a tensor, a
tuple of arguments, a dictionary of keywords, or a function that gives one of these.
"""

from __future__ import annotations

import inspect
import math
import runpy
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ironlaw.errors import BadValue, IronlawError, MissingExtra, unknown
from ironlaw.formats import FORMATS, MODEL_FORMATS

INPUT_FORMATS = ("fp64", "fp32", "fp16", "bf16", "int64", "int32", "int8", "bool")
TOKENS, IMAGE = 128, 224
MOST_ELEMENTS = 10**15  # of an input
MOST_AXES = 64  # that PyTorch gives a tensor


@dataclass
class Target:
    """A call: what, with which arguments."""

    name: str
    call: Any
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)


def load(
    text: str,
    shapes: Sequence[str] = (),
    batch: int | None = None,
    dtype: str | None = None,
    seq: int | None = None,
    settings: dict[str, Any] | None = None,
    device: str = "meta",
) -> Target:
    """The call that `text` means. Models are built on the meta device, without their weights.

    With another `device` the model is built there, weights and all, to be run; inputs given as shapes stay without values.
    """
    try:
        import torch
    except ImportError:
        raise MissingExtra("analyze needs PyTorch to read a model; install it with: pip install torch") from None
    if dtype is not None and dtype not in MODEL_FORMATS:
        raise BadValue(f"a model can't be turned into {dtype}; give fp32, fp16 or bf16")
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
        target.call = _prepared(target.call, dtype, device)
    return fitted(target, batch, dtype)


def _prepared(module: Any, dtype: str | None, device: str) -> Any:
    import torch

    try:
        module = module.eval()
        if dtype is not None:
            return module.to(device=device, dtype=FORMATS[dtype].in_torch(torch))
        return module.to(device=device) if device != "meta" else module
    except Exception as error:
        as_what = f" in {dtype}" if dtype else ""
        raise BadValue(
            f"the model can't be brought to {device}{as_what}: {_said(error)}; fix its eval() or to(), or give another --dtype"
        ) from error


def fitted(target: Target, batch: int | None, dtype: str | None) -> Target:
    """Inputs with another first size or format."""
    import torch
    from torch.utils import _pytree as pytree

    def change(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        shape = (batch, *leaf.shape[1:]) if batch is not None and leaf.dim() else leaf.shape
        fmt = FORMATS[dtype].in_torch(torch) if dtype is not None and leaf.is_floating_point() else leaf.dtype
        return leaf if shape == leaf.shape and fmt == leaf.dtype else empty(shape, fmt)

    target.args, target.kwargs = pytree.tree_map(change, target.args), pytree.tree_map(change, target.kwargs)
    return target


def tensor(text: str) -> Any:
    """`8x3x224x224` or `8x128:int64` -> an empty tensor."""
    import torch

    sizes, _, fmt = text.partition(":")
    if (fmt or "fp32") not in INPUT_FORMATS:
        raise unknown(f"number format of the input {text!r}", fmt, INPUT_FORMATS)
    try:
        shape = [int(size) for size in sizes.split("x")]
        if min(shape) < 1 or len(shape) > MOST_AXES:
            raise ValueError
    except ValueError:
        raise BadValue(f"the input {text!r} is not a valid shape; write sizes with x between, such as 8x3x224x224 or 8x128:int64") from None
    return empty(shape, torch.get_default_dtype() if not fmt else FORMATS[fmt].in_torch(torch))


def empty(shape: Sequence[int], dtype: Any) -> Any:
    """A tensor without values; BadValue where no memory could ever hold it."""
    import torch

    if math.prod(shape) > MOST_ELEMENTS:
        raise BadValue(f"an input of {'x'.join(map(str, shape))} has more elements than any memory holds; give smaller sizes")
    return torch.empty(tuple(shape), dtype=dtype, device="meta")


def from_file(text: str, settings: dict[str, Any], device: str = "meta") -> Target:
    place, _, name = text.rpartition(":")
    if not place or not name:
        raise BadValue(f"{text!r} does not say what to analyze; write FILE.py:NAME, or hf:CONFIG such as hf:LlamaConfig")
    path = Path(place)
    if not path.is_file():
        raise BadValue(f"there is no file {place}; give the path of a Python file and a name in it, such as model.py:net")
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        names = runpy.run_path(str(path), run_name="__ironlaw__")
    except IronlawError:
        raise
    except Exception as error:
        line = error.lineno if isinstance(error, SyntaxError) else _line(error, path)
        raise BadValue(f"{place} does not run (line {line}): {_said(error)}; fix it first") from error
    finally:
        sys.path.pop(0)
    if name not in names:
        raise unknown(f"name in {place}", name, [key for key, value in names.items() if not key.startswith("_") and callable(value)])
    call = instantiate(names[name], name, settings, device)
    return Target(name, call[0], *(call[1:] if len(call) > 1 else inputs(names, name)))


def _line(error: Exception, path: Path) -> int | str:
    import traceback

    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) == path]
    return lines[-1] if lines and lines[-1] is not None else "?"


def _said(error: BaseException) -> str:
    """Its kind and its message, where its own __str__ works."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def instantiate(value: Any, name: str, settings: dict[str, Any], device: str = "meta") -> tuple[Any, ...]:
    """(module or function,) or (module, args, kwargs) from whatever stands under the name."""
    import torch

    if isinstance(value, torch.nn.Module):
        return (value,)
    is_class = isinstance(value, type) and issubclass(value, torch.nn.Module)
    if not callable(value):
        raise BadValue(f"{name} is a {type(value).__name__}; name an nn.Module, a class of one, or a function")
    if not is_class and not _makes(value):
        return (value,)
    try:
        with torch.device(device):
            module = value(**settings)
    except Exception as error:
        raise BadValue(f"{name}() fails: {_said(error)}; it is called without arguments, or with those of --set") from error
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
            f"{key} gives no inputs: {_said(error)}; make it a tensor, a tuple of arguments or a dictionary of keywords"
        ) from error


def hugging_face(name: str, settings: dict[str, Any], seq: int | None, device: str = "meta") -> Target:
    import torch

    try:
        import transformers
    except ImportError:
        raise MissingExtra("hf: needs transformers; install it with: pip install transformers") from None
    transformers.logging.set_verbosity_error()
    try:
        cls: Any = getattr(transformers, name, None)
    except Exception as error:  # a class whose own libraries are missing
        raise BadValue(f"hf:{name} can't be imported: {_said(error)}; install what it needs, or name another class") from error
    if not isinstance(cls, type):
        known = [n for n in dir(transformers) if n.endswith("Config")]
        raise unknown("class of transformers", name, known)
    is_config = issubclass(cls, transformers.PretrainedConfig)
    configuration: Any = cls if is_config else getattr(cls, "config_class", None)
    if configuration is None:
        raise BadValue(f"hf:{name} is neither a model nor a configuration; name one, such as hf:LlamaConfig")
    try:
        config = configuration(**settings)
        with torch.device(device):
            model = model_of(transformers, config) if is_config else cls(config)
    except Exception as error:
        raise BadValue(f"hf:{name} can't be built: {_said(error)}; check --set, or name a model class") from error
    if getattr(model, "main_input_name", "input_ids") == "pixel_values":
        size = getattr(config, "image_size", IMAGE)
        size = size if isinstance(size, int) else size[0]
        channels = getattr(config, "num_channels", 3)
        return Target(name, model, (torch.empty(1, channels, size, size, dtype=model.dtype, device="meta"),))
    ids = torch.empty(1, seq or TOKENS, dtype=torch.long, device="meta")
    keywords = {"use_cache": False} if "use_cache" in inspect.signature(model.forward).parameters else {}
    return Target(name, model, (ids,), keywords)


def model_of(transformers: Any, config: Any) -> Any:
    """The causal language model of a configuration where there is one, else its bare model."""
    for auto in (transformers.AutoModelForCausalLM, transformers.AutoModel):
        if type(config) in auto._model_mapping and not getattr(config, "is_encoder_decoder", False):
            causal = auto is transformers.AutoModelForCausalLM
            if causal and type(config).__name__.startswith(("Bert", "Roberta", "Electra", "Camembert", "XLMRoberta", "MegatronBert")):
                continue  # they have one, but nobody means it
            return auto.from_config(config)
    raise ValueError("transformers has no model for this configuration")
