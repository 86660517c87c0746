"""The command that starts a run: counts that multiply to the devices, and options of each stack by hand."""

import pytest

from ironlaw.engine.cluster.layouts import Layout
from ironlaw.registry.decoder_shapes import decoder
from ironlaw.systems.training.commands import command
from ironlaw.systems.training.stack_steps import way_of


def options(text: str) -> dict[str, str]:
    """`--name value`, or `--name` alone."""
    words, found = text.split(), {}
    for i, word in enumerate(words):
        if word.startswith("--"):
            after = words[i + 1] if i + 1 < len(words) and not words[i + 1].startswith("--") else ""
            found[word] = after
    return found


def test_torchtitan_by_hand() -> None:
    layout = Layout(8, 8, data=8, virtual=2, recompute="full", zero=2)
    text = command(decoder("llama3_405b"), layout, 256, 8192, way_of("torchtitan", None, "fp8", True), 8)
    found = options(text)
    assert text.startswith(
        "torchrun --nnodes 64 --nproc_per_node 8 --rdzv_backend c10d --rdzv_endpoint $MASTER_ADDR:29500 -m torchtitan.train"
    )
    assert (found["--training.local_batch_size"], found["--training.global_batch_size"]) == ("32", "256")
    at = "--parallelism."
    names = ("data_parallel_shard_degree", "data_parallel_replicate_degree", "tensor_parallel_degree", "pipeline_parallel_degree")
    assert [found[at + name] for name in names] == ["8", "1", "8", "8"]
    assert found[f"{at}pipeline_parallel_schedule"] == "Interleaved1F1B" and found[f"{at}pipeline_parallel_layers_per_stage"] == "8"
    assert found[f"{at}fsdp_reshard_after_forward"] == "never" and f"{at}enable_async_tensor_parallel" in found
    assert found["--activation_checkpoint.mode"] == "full" and found["--model.converters"] == "float8" and "--training.compile" in found


def test_torchtitan_without_a_pipeline_takes_a_microbatch_at_a_time() -> None:
    layout = Layout(data=16, micro=4, zero=3, replicate=2, recompute="ops")
    found = options(command(decoder("llama3_8b"), layout, 128, 8192, way_of("torchtitan", "eager", "bf16", False), 8))
    assert found["--training.local_batch_size"] == "4" and found["--parallelism.data_parallel_shard_degree"] == "8"
    assert found["--parallelism.data_parallel_replicate_degree"] == "2" and "--training.compile" not in found
    assert (found["--activation_checkpoint.mode"], found["--activation_checkpoint.selective_ac_option"]) == ("selective", "op")


def test_megatron_by_hand() -> None:
    layout = Layout(4, 8, data=2, virtual=5)
    found = options(command(decoder("llama3_70b"), layout, 128, 8192, way_of("megatron", None, "fp8", False), 8))
    wanted = {
        "--tensor-model-parallel-size": "4", "--pipeline-model-parallel-size": "8", "--num-layers-per-virtual-pipeline-stage": "2",
        "--num-layers": "80", "--num-query-groups": "8", "--micro-batch-size": "1", "--global-batch-size": "128", "--fp8-format": "hybrid",
        "--nnodes": "8", "--sequence-parallel": "", "--use-distributed-optimizer": "", "--untie-embeddings-and-output-weights": "",
    }  # fmt: skip
    assert {name: found.get(name) for name in wanted} == wanted
    assert "--recompute-granularity" not in found and "--context-parallel-size" not in found
    sharded = command(
        decoder("gpt3_175b"), Layout(8, data=64, zero=3, recompute="full"), 512, 2048, way_of("megatron", None, "bf16", False), 8
    )
    assert "--use-megatron-fsdp" in sharded and "--recompute-granularity full" in sharded and "--swiglu" not in sharded


@pytest.mark.parametrize(
    ("devices", "start"), [(8, "torchrun --nnodes 1 --nproc_per_node 8 train.py"), (4, "torchrun --nnodes 1 --nproc_per_node 4 train.py")]
)
def test_a_script_of_your_own(devices: int, start: str) -> None:
    assert command(decoder("gpt2"), Layout(data=devices, zero=3), 64, 1024, way_of("plain", None, "bf16", False), 8) == start


def test_offload_is_each_stacks_own_option() -> None:
    model = decoder("llama3_8b")
    for stack, option in (("torchtitan", "--training.enable_cpu_offload"), ("megatron", "--optimizer-cpu-offload")):
        way = way_of(stack, None, "bf16", False)
        plain = Layout(data=8, zero=way.stack.offload_zeros[0])
        for layout in (plain, Layout(data=8, zero=plain.zero, offload=way.stack.offload)):
            assert (option in options(command(model, layout, 64, 8192, way, 8))) == bool(layout.offload)
    alone = Layout(8, offload=("optimiser",))  # a precision-aware optimiser is a distributed one, also of one replica
    found = options(command(model, alone, 64, 8192, way_of("megatron", None, "bf16", False), 8))
    assert {"--use-precision-aware-optimizer", "--use-distributed-optimizer"} <= set(found) and found[
        "--optimizer-offload-fraction"
    ] == "1.0"
