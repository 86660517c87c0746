"""One tool counts one model once, in a process of its own: python benchmarks/counters.py TOOL MODEL real|fake|meta -> JSON.

`benchmarks/capture.py` starts it. Libraries are imported and the model is built before the clock starts. A tool that gives
multiply-adds is doubled: a multiply and an add are two FLOPs.
"""

from __future__ import annotations

import contextlib
import io
import json
import resource
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional

from ironlaw import __version__ as OURS

AGAIN = 2  # more calls after the first, while they are quick
QUICK = 8.0  # seconds
TOKENS = 128
SMALL_LLAMA = dict(
    hidden_size=512, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=2, intermediate_size=1408, vocab_size=8000,
)  # fmt: skip
LLAMA_3_8B = dict(
    hidden_size=4096, num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8, intermediate_size=14336, vocab_size=128256,
    max_position_embeddings=8192, rope_theta=500000.0,
)  # fmt: skip


# ---- models: (module, arguments)


class Plain(nn.Module):
    """A model that takes tensors and gives one: some tools take nothing else."""

    def __init__(self, model: nn.Module, **keywords: Any) -> None:
        super().__init__()
        self.model, self.keywords = model, keywords

    def forward(self, *args: Any) -> Any:
        return self.model(*args, **self.keywords).logits


class Attention(nn.Module):
    def __init__(self, grouped: bool) -> None:
        super().__init__()
        self.grouped, self.unused = grouped, nn.Parameter(torch.zeros(1))  # some tools want a module with weights

    def forward(self, q: Any, k: Any, v: Any) -> Any:
        return functional.scaled_dot_product_attention(q, k, v, enable_gqa=self.grouped)


class Elementwise(nn.Module):
    """7 + 5 + 1 + 5 operations an element, by the conventions of ironlaw.engine.device.work."""

    def __init__(self) -> None:
        super().__init__()
        self.unused = nn.Parameter(torch.zeros(1))

    def forward(self, x: Any) -> Any:
        y = functional.layer_norm(x, x.shape[-1:])
        return functional.softmax(functional.gelu(y) + x, -1)


def llama(settings: dict[str, Any]) -> nn.Module:
    import transformers

    return Plain(transformers.LlamaForCausalLM(transformers.LlamaConfig(**settings)), use_cache=False)


def gpt2() -> nn.Module:
    import transformers

    return Plain(transformers.GPT2LMHeadModel(transformers.GPT2Config()), use_cache=False)


def resnet50() -> nn.Module:
    import transformers

    return Plain(transformers.ResNetForImageClassification(transformers.ResNetConfig(num_labels=1000)))


def tokens() -> tuple[Any, ...]:
    return (torch.zeros(1, TOKENS, dtype=torch.long),)


def heads(*counts: int) -> Callable[[], tuple[Any, ...]]:
    return lambda: tuple(torch.zeros(1, count, 64, 32) for count in counts)


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[], tuple[Any, ...]], Any]] = {
    "resnet50": (resnet50, lambda: (torch.zeros(1, 3, 224, 224),), torch.float32),
    "gpt2": (gpt2, tokens, torch.float32),
    "small_llama": (lambda: llama(SMALL_LLAMA), tokens, torch.float32),
    "llama3_8b": (lambda: llama(LLAMA_3_8B), tokens, torch.bfloat16),
    "attention": (lambda: Attention(False), heads(8, 8, 8), torch.float32),
    "grouped": (lambda: Attention(True), heads(8, 2, 2), torch.float32),
    "elementwise": (Elementwise, lambda: (torch.zeros(256, 1024),), torch.float32),
}


def built(name: str, device: str) -> tuple[nn.Module, tuple[Any, ...]]:
    make, given, dtype = MODELS[name]
    torch.set_default_dtype(dtype)
    with torch.device("meta" if device == "meta" else "cpu"):
        model, args = make().eval(), given()
    torch.set_default_dtype(torch.float32)
    return model, args


# ---- tools: import what is needed, give the function that counts


def ironlaw() -> Callable[..., dict[str, Any]]:
    import ironlaw as il
    import ironlaw.tracing.fake_run  # what capture imports when it is first called

    def count(model: nn.Module, args: tuple[Any, ...]) -> dict[str, Any]:
        graph = il.capture(model, args)
        return {"flops": graph.flops, "all": graph.work.flops, "bytes": graph.bytes}

    return count


def flop_counter_mode() -> Callable[..., dict[str, Any]]:
    from torch.utils.flop_counter import FlopCounterMode

    def count(model: nn.Module, args: tuple[Any, ...]) -> dict[str, Any]:
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            model(*args)
        total = counter.get_total_flops()
        return {"flops": total, "all": total}

    return count


def fvcore() -> Callable[..., dict[str, Any]]:
    from fvcore.nn import FlopCountAnalysis

    def count(model: nn.Module, args: tuple[Any, ...]) -> dict[str, Any]:
        found = FlopCountAnalysis(model, args).unsupported_ops_warnings(False).uncalled_modules_warnings(False)
        total = 2 * found.total()
        return {"flops": total, "all": total}

    return count


def calflops() -> Callable[..., dict[str, Any]]:
    from calflops import calculate_flops

    def count(model: nn.Module, args: tuple[Any, ...]) -> dict[str, Any]:
        every, macs, _ = calculate_flops(model, args=list(args), kwargs={}, print_results=False, output_as_string=False)
        return {"flops": 2 * macs, "all": every}

    return count


def ptflops() -> Callable[..., dict[str, Any]]:
    from ptflops import get_model_complexity_info

    def count(model: nn.Module, args: tuple[Any, ...]) -> dict[str, Any]:
        names = dict(zip(("q", "k", "v"), args, strict=False)) if len(args) > 1 else None
        macs, _ = get_model_complexity_info(
            model, (1,), as_strings=False, print_per_layer_stat=False, verbose=False, input_constructor=lambda _: names or args[0]
        )
        if macs is None:
            raise RuntimeError("gives no count; it prints a warning and goes on")
        return {"flops": 2 * macs, "all": 2 * macs}

    return count


def deepspeed() -> Callable[..., dict[str, Any]]:
    from deepspeed.profiling.flops_profiler import get_model_profile

    def count(model: nn.Module, args: tuple[Any, ...]) -> dict[str, Any]:
        every, macs, _ = get_model_profile(model, args=list(args), print_profile=False, as_string=False, warm_up=0)
        return {"flops": 2 * macs, "all": every}

    return count


TOOLS = {
    "ironlaw": ironlaw, "torch": flop_counter_mode, "fvcore": fvcore, "calflops": calflops, "ptflops": ptflops, "deepspeed": deepspeed,
}  # fmt: skip


# ---- the clock


def peak() -> int:
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024


def timed(count: Callable[..., dict[str, Any]], model: nn.Module, args: tuple[Any, ...]) -> dict[str, Any]:
    before, times = peak(), []
    start, work = time.perf_counter(), time.process_time()
    found = count(model, args)
    times.append(time.perf_counter() - start)
    work = time.process_time() - work
    most = peak()
    for _ in range(AGAIN if times[0] < QUICK else 0):
        start = time.perf_counter()
        count(model, args)
        times.append(time.perf_counter() - start)
    told = {"first_s": times[0], "again_s": min(times[1:], default=times[0]), "cpu_s": work}
    return found | told | {"before_bytes": before, "peak_bytes": most}


def run(tool: str, model: str, device: str) -> dict[str, Any]:
    try:
        told = {"version": OURS if tool == "ironlaw" else version(tool)}
    except PackageNotFoundError:
        return {"missing": f"{tool} is not installed"}
    warnings.filterwarnings("ignore")
    try:
        count = TOOLS[tool]()
    except Exception as error:
        return told | {"missing": f"{tool} {told['version']} can't be imported: {type(error).__name__}: {error}"}
    try:
        with FakeTensorMode() if device == "fake" else contextlib.nullcontext():
            return told | timed(count, *built(model, device))
    except Exception as error:
        first = (str(error).splitlines() or [""])[0]
        return told | {"error": f"{type(error).__name__}: {first[:70]}"}


if __name__ == "__main__":
    quiet = io.StringIO()
    with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        answer = run(*sys.argv[1:4])
    print(json.dumps(answer))
