"""Which kernels torch.compile makes of a model for an H200, without one: Inductor up to its scheduler, on fake tensors.

    python benchmarks/inductor.py timm/hgnet_tiny torchvision/mobilenet_v3_small …     with the libraries of benchmarks/pinned.txt

Prints, and adds to benchmarks/inductor_counts.json, how many loops of its own Inductor writes and how often it calls a library. Nothing
is run and no code is generated, so what a library launches for one call is not seen. An independent count for the rules in
`ironlaw.backends`: tests/slow/test_inductor_counts.py. Products are not padded, which PyTorch decides by timing them.
"""

import argparse
import json
import os
import sys
from pathlib import Path

os.environ["TORCHINDUCTOR_FX_GRAPH_CACHE"] = "0"
import torch
from compiler.pretended_gpu import pretend
from corpus import catalogue
from torch._inductor import compile_fx, scheduler
from torch._inductor.debug import DebugContext
from torch._inductor.graph import GraphLowering
from torch._inductor.virtualized import V
from torch._subclasses.fake_tensor import FakeTensorMode

COUNTS = Path(__file__).with_name("inductor_counts.json")


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
