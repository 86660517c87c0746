"""Rules for collectives between ranks: what each rank's own memory sees of them is a copy, and the op says which collective it is.

What they take on the wires depends on the machine's box (`engine.device.wires`).
"""

from __future__ import annotations

from ironlaw.engine.device.work import BYTES, COLLECTIVE, LIBRARY, RANKS, UNCOMPILED
from ironlaw.tracing.aten import Call, OpDraft, Rule, registrar

RULES: dict[str, Rule] = {}
rule = registrar(RULES)
KINDS = {
    "allreduce": "all_reduce", "all_reduce": "all_reduce", "allreduce_coalesced": "all_reduce", "broadcast": "broadcast",
    "_allgather_base": "all_gather", "allgather": "all_gather", "all_gather_into_tensor": "all_gather",
    "_reduce_scatter_base": "reduce_scatter", "reduce_scatter": "reduce_scatter", "reduce_scatter_tensor": "reduce_scatter",
    "alltoall_base": "all_to_all", "alltoall": "all_to_all", "all_to_all_single": "all_to_all",
}  # fmt: skip


@rule(*KINDS)
def collective(call: Call) -> OpDraft | list[OpDraft]:
    """The largest tensor of the call counts: what is gathered, or what is scattered."""
    import torch.distributed as dist

    tensors = [t for t in (*call.outputs, *call.inputs) if t.size]
    if not tensors:
        return []
    whole = max(tensors, key=lambda t: float(t.bytes))
    ranks = dist.get_world_size() if dist.is_initialized() else 1
    source = next((t for t in call.inputs if t.size), whole)
    attrs = {COLLECTIVE: KINDS[call.name], BYTES: float(whole.bytes), RANKS: ranks, UNCOMPILED: LIBRARY}
    return OpDraft("copy", [source], call.outputs[:1], attrs)


@rule("wait_tensor", "barrier", "_wrap_tensor_autograd")
def waited(call: Call) -> list[OpDraft]:
    return []


@rule("fsdp::all_gather_copy_in", "fsdp::chunk_cat")
def gathered_in(call: Call) -> list[OpDraft]:
    """Parts side by side in one buffer."""
    parts, out = [t for t in call.inputs if t.size], call.outputs[-1:]
    return [OpDraft("copy", parts[:1], out)] if parts and out else []


@rule("fsdp::split_with_sizes_copy")
def taken_apart(call: Call) -> list[OpDraft]:
    return [OpDraft("copy", call.inputs[:1], [out]) for out in call.outputs]
