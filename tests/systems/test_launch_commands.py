"""The command that starts a run: counts that multiply to the devices, and options of each stack by hand."""

import json
from pathlib import Path

import pytest

from ironlaw.engine.cluster.layouts import Layout
from ironlaw.errors import BadValue
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


def config(folder: Path, **given: object) -> str:
    (folder / "config.json").write_text(json.dumps(given))
    return str(folder)


REPLICAS = Layout(data=8, zero=1)


def megatron(model: str, layout: Layout = REPLICAS) -> str:
    return command(decoder(model), layout, 64, 2048, way_of("megatron", None, "bf16", False), 8)


def test_megatrons_options_of_a_fine_grained_mixture(tmp_path: Path) -> None:
    """As NVIDIA's own script for DeepSeek-V3 has them (pretrain_gpt.py of Megatron-LM)."""
    found = options(
        megatron(
            config(
                tmp_path, model_type="deepseek_v3", hidden_size=7168, intermediate_size=18432, num_hidden_layers=61, vocab_size=129280,
                num_attention_heads=128, num_key_value_heads=128, q_lora_rank=1536, kv_lora_rank=512, qk_nope_head_dim=128,
                qk_rope_head_dim=64, v_head_dim=128, n_routed_experts=256, num_experts_per_tok=8, n_shared_experts=1,
                moe_intermediate_size=2048, first_k_dense_replace=3, tie_word_embeddings=False, max_position_embeddings=163840,
            )
        )
    )  # fmt: skip
    wanted = {
        "--ffn-hidden-size": "18432", "--moe-ffn-hidden-size": "2048", "--moe-shared-expert-intermediate-size": "2048",
        "--moe-layer-freq": '"[0]*3+[1]*58"', "--num-experts": "256", "--moe-router-topk": "8", "--q-lora-rank": "1536",
        "--kv-lora-rank": "512", "--qk-head-dim": "128", "--qk-pos-emb-head-dim": "64", "--v-head-dim": "128", "--qk-layernorm": "",
        "--multi-latent-attention": "", "--normalization": "RMSNorm", "--swiglu": "", "--position-embedding-type": "rope",
    }  # fmt: skip
    assert {name: found.get(name) for name in wanted} == wanted and "--group-query-attention" not in found


def test_megatrons_options_of_a_decoder_before_llama(tmp_path: Path) -> None:
    found = options(
        megatron(
            config(
                tmp_path, model_type="opt", hidden_size=4096, ffn_dim=16384, num_hidden_layers=32, num_attention_heads=32,
                vocab_size=50272, max_position_embeddings=2048, word_embed_proj_dim=4096,
            )
        )
    )  # fmt: skip
    assert found["--position-embedding-type"] == "learned_absolute" and found["--ffn-hidden-size"] == "16384"
    assert not {"--swiglu", "--normalization", "--disable-bias-linear", "--untie-embeddings-and-output-weights"} & found.keys()


def test_megatrons_options_of_windows_and_sizes_of_heads(tmp_path: Path) -> None:
    kinds = ["sliding_attention", "full_attention"] * 12
    found = options(
        megatron(
            config(
                tmp_path, model_type="gpt_oss", hidden_size=2880, intermediate_size=2880, num_hidden_layers=24, num_attention_heads=64,
                num_key_value_heads=8, head_dim=64, vocab_size=201088, num_local_experts=32, num_experts_per_tok=4, sliding_window=128,
                layer_types=kinds, attention_bias=True, tie_word_embeddings=False,
            )
        )
    )  # fmt: skip
    assert (found["--window-size"], found["--window-attn-skip-freq"]) == ("128,0", '"[1,0]*12"')
    assert (found["--kv-channels"], found["--num-query-groups"]) == ("64", "8")
    assert "--moe-layer-freq" not in found and "--disable-bias-linear" not in found


def test_what_megatron_has_no_options_for_starts_from_ones_own_script(tmp_path: Path) -> None:
    text = megatron(
        config(
            tmp_path, model_type="mamba", hidden_size=2560, intermediate_size=5120, num_hidden_layers=64, state_size=16, conv_kernel=4,
            expand=2, time_step_rank=160, vocab_size=50280,
        ), Layout(data=8, pipeline=2, zero=1),
    )  # fmt: skip
    note, start = text.split("\n")
    assert note.startswith("# ") and "state" in note and "YOUR_SCRIPT.py" in start and "pretrain_gpt.py" not in start
    assert options(start)["--pipeline-model-parallel-size"] == "2" and "--swiglu" not in start


def test_nvfp4_is_megatrons_and_hides_no_tensor_collective() -> None:
    """NVIDIA's recipes switch --tp-comm-overlap off for it."""
    way = way_of("megatron", None, "fp4", False)
    found = options(command(decoder("llama3_70b"), Layout(2, 4, data=8, virtual=5), 256, 8192, way, 4))
    assert found["--fp4-format"] == "e2m1" and found["--fp4-recipe"] == "nvfp4" and "--tp-comm-overlap" not in found
    assert (found["--nnodes"], found["--nproc_per_node"]) == ("16", "4") and way.stack.hides(False, "fp4").tensor == 1.0
    assert way.stack.hides(False, "fp8").tensor == way.stack.overlap.tensor < 1.0
    with pytest.raises(BadValue, match="torchtitan has no products in fp4"):
        way_of("torchtitan", None, "fp4", False)


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
