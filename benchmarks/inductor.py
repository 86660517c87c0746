"""Which kernels torch.compile makes of a model for an H200, without one: Inductor up to its scheduler, on fake tensors.

    python benchmarks/inductor.py timm/hgnet_tiny torchvision/mobilenet_v3_small …     with the libraries of benchmarks/pinned.txt

Prints, and adds to benchmarks/inductor_counts.json, how many loops of its own Inductor writes and how often it calls a library. Nothing
is run and no code is generated, so what a library launches for one call is not seen. An independent count for the rules in
`ironlaw.backends`: tests/slow/test_inductor_counts.py. Products are not padded, which PyTorch decides by timing them.
"""

import argparse
import contextlib
import json
import os
import sys
import types
from pathlib import Path

os.environ["TORCHINDUCTOR_FX_GRAPH_CACHE"] = "0"
import torch
from corpus import catalogue
from torch._dynamo.device_interface import CudaInterface
from torch._inductor import compile_fx, scheduler
from torch._inductor.debug import DebugContext
from torch._inductor.fx_passes import fuse_attention, pad_mm
from torch._inductor.graph import GraphLowering
from torch._inductor.virtualized import V
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensorMode

COUNTS = Path(__file__).with_name("inductor_counts.json")
H200 = types.SimpleNamespace(
    name="NVIDIA H200", major=9, minor=0, multi_processor_count=132, total_memory=150 << 30, max_threads_per_multi_processor=2048,
    regs_per_multiprocessor=65536, warp_size=32, shared_memory_per_block=49152, shared_memory_per_block_optin=232448,
    shared_memory_per_multiprocessor=233472, L2_cache_size=60 << 20, max_threads_per_block=1024, gcnArchName="", is_integrated=0,
)  # fmt: skip


def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """cuDNN's kernel, which PyTorch takes on Hopper; without a driver it would fall back to products."""
    if attn_mask is not None:
        mask = torch.where(attn_mask, 0.0, float("-inf")).to(query.dtype) if attn_mask.dtype == torch.bool else attn_mask
        attn_mask = mask.expand(*query.shape[:-1], key.size(-2))
    made = torch.ops.aten._scaled_dot_product_cudnn_attention(query, key, value, attn_mask, False, 0.0, is_causal, False, scale=scale)
    return made[0]


def pretend():
    """A machine with an H200, as far as Inductor asks."""
    torch._C._ensureCUDADeviceGuardSet()
    fake_tensor.init_gpu_context = lambda *_: None
    answers = {
        "is_available": True, "device_count": 1, "current_device": 0, "get_device_properties": H200, "get_device_capability": (9, 0),
        "get_device_name": H200.name, "synchronize": None, "is_bf16_supported": True, "_lazy_init": None, "set_device": None,
        "device": contextlib.nullcontext(), "get_rng_state": torch.empty(16, dtype=torch.uint8), "set_rng_state": None,
        "current_stream": types.SimpleNamespace(cuda_stream=0, device=torch.device("cuda:0"), stream_id=0, device_index=0, device_type=1),
    }  # fmt: skip
    for name, answer in answers.items():
        setattr(torch.cuda, name, lambda *_, answer=answer, **__: answer)
    for owner in (CudaInterface, CudaInterface.Worker):
        owner.get_device_properties = staticmethod(lambda *_: H200)
        owner.current_device = staticmethod(lambda *_: 0)
    CudaInterface.is_available = CudaInterface.is_triton_capable = staticmethod(lambda *_: True)
    CudaInterface.raise_if_triton_unavailable = staticmethod(lambda *_: None)
    CudaInterface.get_compute_capability = staticmethod(lambda *_: 90)
    torch.utils._triton.has_triton = lambda *_: True
    torch.nn.functional.scaled_dot_product_attention = fuse_attention._scaled_dot_product_attention = attention
    pad_mm._should_pad = lambda *_, **__: False
    patterns, tensor = fuse_attention._get_sfdp_patterns, torch.tensor

    def on_fakes(*args):  # the patterns' scalars are real tensors
        torch.tensor = lambda value, device=None, **kw: torch.empty((), device=device, **kw) if device else tensor(value, **kw)
        try:
            yield from patterns(*args)
        finally:
            torch.tensor = tensor

    fuse_attention._get_sfdp_patterns = on_fakes


def faked(value, known):
    """The same on fake tensors of the GPU; a tensor that occurs twice stays one."""
    if isinstance(value, torch.Tensor):
        if id(value) not in known:
            made = torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device="cuda")
            known[id(value)] = torch.nn.Parameter(made, requires_grad=False) if isinstance(value, torch.nn.Parameter) else made, value
        return known[id(value)][0]
    if isinstance(value, (list, tuple)):
        return type(value)(faked(one, known) for one in value)
    return {name: faked(one, known) for name, one in value.items()} if isinstance(value, dict) else value


def counted(library, name, batch, dtype="fp16"):
    """(loops, calls of libraries, whether images are laid out as NHWC) of one model."""
    entry = next(one for one in catalogue.entries((library,)) if one.name == name)
    module, args, keywords = catalogue.build(entry, device="meta", batch=batch, dtype=dtype)
    found = []

    def lowered(gm, inputs, **asked):
        mode = torch._guards.detect_fake_mode(inputs)
        compile_fx._recursive_record_original_output_strides(gm)
        compile_fx.view_to_reshape(gm)
        with V.set_fake_mode(mode), V.set_debug_handler(DebugContext()), V.set_extern_kernel_nodes([]):
            compile_fx.fake_tensor_prop(gm, inputs)
            compile_fx._recursive_post_grad_passes(gm, is_inference=True)
            graph = GraphLowering(gm, example_inputs=inputs, shape_env=mode.shape_env, graph_id=len(found), is_inference=True)
            graph.freeze_runtime_asserts()
            with V.set_graph_handler(graph):
                graph.run(*inputs)
                graph.init_wrapper_code()
                graph._update_scheduler()
        found.append((list(graph.scheduler.nodes), graph.layout_opt))

        def run(values):
            given = list(values)
            values.clear()
            return torch.fx.Interpreter(gm).run(*given)

        run._boxed_call = True
        return run

    torch._dynamo.reset()
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        known = {}
        for part in module.modules():
            for held in (part._parameters, part._buffers):
                held.update({key: faked(value, known) for key, value in held.items()})
        compiled = torch.compile(module, backend=lambda gm, inputs: compile_fx.compile_fx(gm, inputs, inner_compile=lowered))
        compiled(*faked(args, known), **faked(keywords, known))
    nodes = [node for graph, _ in found for node in graph if not isinstance(node, scheduler.NopKernelSchedulerNode)]
    library_calls = [node for node in nodes if isinstance(node, scheduler.ExternKernelSchedulerNode)]
    unpacked = sum(type(node.node).__name__ == "MultiOutput" for node in library_calls)
    return len(nodes) - len(library_calls), len(library_calls) - unpacked, any(layout for _, layout in found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="LIBRARY/MODEL")
    parser.add_argument("--batch", type=int, default=16)
    args = parser.parse_args()
    pretend()
    for target in args.models:
        library, _, name = target.partition("/")
        loops, calls, last = counted(library, name, args.batch)
        print(f"{target}: {loops} loops, {calls} calls of libraries{', NHWC' if last else ''}", file=sys.stderr)
        kept = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
        kept[f"{library} {name} {args.batch}"] = {"loops": loops, "calls": calls, "nhwc": last}
        COUNTS.write_text("{\n" + ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(kept.items())) + "\n}\n")


if __name__ == "__main__":
    main()
