"""The command that starts a training run as an answer says: torchrun, and the stack's own options for the layout."""

from __future__ import annotations

from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.shapes import Shape
from ironlaw.systems.training.megatron_models import lacks, model_options
from ironlaw.systems.training.stack_steps import Way

CHECKPOINTS = {
    "none": "--activation_checkpoint.mode none", "full": "--activation_checkpoint.mode full",
    "ops": "--activation_checkpoint.mode selective --activation_checkpoint.selective_ac_option op",
    "layers": "--activation_checkpoint.mode selective --activation_checkpoint.selective_ac_option 2",
}  # fmt: skip
AGAIN = {
    "none": "", "selective": "--recompute-granularity selective",
    "full": "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
}  # fmt: skip
OFFLOAD = "--optimizer-cpu-offload --optimizer-offload-fraction 1.0 --use-precision-aware-optimizer --overlap-cpu-optimizer-d2h-h2d"
FORMATS = {
    "fp8": "--fp8-format hybrid --transformer-impl transformer_engine",
    "fp4": "--fp4-format e2m1 --fp4-recipe nvfp4 --transformer-impl transformer_engine",
}

OWN = "YOUR_SCRIPT.py"


def command(shape: Shape, layout: Layout, batch: int, seq: int, way: Way, per_box: int) -> str:
    """For every box: MASTER_ADDR is the first one's address. What is not part of a layout (data, optimiser, tokeniser) is left to you."""
    write = {"torchtitan": torchtitan, "megatron": megatron}.get(way.stack.starts)
    boxes = -(-layout.devices // per_box)
    start = f"torchrun --nnodes {boxes} --nproc_per_node {min(per_box, layout.devices)}"
    if boxes > 1:
        start += " --rdzv_backend c10d --rdzv_endpoint $MASTER_ADDR:29500"
    missing = lacks(shape) if write is megatron else ""
    note = f"# pretrain_gpt.py has no option for {missing}: your own script takes its place\n" if missing else ""
    return note + " ".join(filter(None, (start, *(write(shape, layout, batch, seq, way) if write else ("train.py",)))))


def torchtitan(shape: Shape, layout: Layout, batch: int, seq: int, way: Way) -> tuple[str, ...]:
    """FSDP's shards include context parallelism's; a pipeline takes its microbatches out of the local batch."""
    at, replicas = "--parallelism.", layout.data
    local = batch // replicas if layout.pipeline > 1 else layout.micro
    pieces = layout.pipeline * layout.virtual
    beside = f"{at}enable_async_tensor_parallel" if way.asynchronous and layout.tensor > 1 else ""
    return (
        "-m torchtitan.train --job.config_file CONFIG.toml", f"--training.seq_len {seq}", f"--training.local_batch_size {local}",
        f"--training.global_batch_size {batch}", f"{at}data_parallel_replicate_degree {layout.replicate}",
        f"{at}data_parallel_shard_degree {replicas // layout.replicate}",
        f"{at}fsdp_reshard_after_forward {'always' if layout.zero == 3 else 'never'}",
        _counted(f"{at}tensor_parallel_degree", layout.tensor), beside,
        _counted(f"{at}context_parallel_degree", layout.context), _counted(f"{at}expert_parallel_degree", layout.expert),
        _counted(f"{at}pipeline_parallel_degree", layout.pipeline),
        f"{at}pipeline_parallel_schedule {'Interleaved1F1B' if layout.virtual > 1 else '1F1B'}"
        f" {at}pipeline_parallel_microbatch_size {layout.micro}"
        f" {at}pipeline_parallel_layers_per_stage {-(-shape.layers // pieces)}" if layout.pipeline > 1 else "",
        "--training.enable_cpu_offload" if layout.offload else "",
        CHECKPOINTS[layout.recompute], "--training.compile" if way.mode == "compiled" else "",
        "--model.converters float8" if way.products == "fp8" else "",
    )  # fmt: skip


def megatron(shape: Shape, layout: Layout, batch: int, seq: int, way: Way) -> tuple[str, ...]:
    """What pretrain_gpt.py has no options for starts from your own script, with the same options for the layout."""
    pieces = layout.pipeline * layout.virtual
    sharded = "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather"
    sizes = (f"--{kind}-batch-size {size}" for kind, size in (("micro", layout.micro), ("global", batch)))
    whole = "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params --use-distributed-optimizer"
    model, split = model_options(shape), layout.tensor > 1 and layout.sequence_parallel
    return (
        "pretrain_gpt.py" if model else f"{OWN} --num-layers {shape.layers} --hidden-size {shape.hidden}", *model,
        f"--seq-length {seq} --max-position-embeddings {seq}", *sizes, "--bf16",
        _counted("--tensor-model-parallel-size", layout.tensor),
        f"--sequence-parallel{'' if way.products in way.stack.waits else ' --tp-comm-overlap'}" if split else "",
        _counted("--pipeline-model-parallel-size", layout.pipeline),
        f"--num-layers-per-virtual-pipeline-stage {-(-shape.layers // pieces)}" if layout.virtual > 1 else "",
        "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split" if shape.layers % pieces else "",
        _counted("--context-parallel-size", layout.context), _counted("--expert-model-parallel-size", layout.expert),
        (whole if layout.zero == 3 else sharded) if layout.replicas > 1 and layout.zero else "", AGAIN[layout.recompute],
        OFFLOAD if layout.offload else "", "--use-distributed-optimizer" if layout.offload and layout.replicas == 1 else "",
        FORMATS.get(way.products, ""),
    )  # fmt: skip


def _counted(name: str, count: int) -> str:
    return f"{name} {count}" if count > 1 else ""
