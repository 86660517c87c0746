"""The commands that start an engine as an answer says: one for every replica, or one for each pool and one for what stands before them."""

from __future__ import annotations

from ironlaw.engine.serving.llm.policy import Policy
from ironlaw.systems.serving.deployments import Deployment

CACHES = {"fp8": "fp8"}  # formats of a cache that engines have an option for
HUB = {  # where engines find models of the registry
    "llama3_8b": "meta-llama/Meta-Llama-3-8B-Instruct", "llama3_70b": "meta-llama/Meta-Llama-3-70B-Instruct",
    "llama3_2_1b": "meta-llama/Llama-3.2-1B-Instruct", "qwen2_0_5b": "Qwen/Qwen2-0.5B-Instruct",
}  # fmt: skip


POOLS = ("prefill", "decode")
SENT = {  # what makes a replica one of a pool: the engine's option for sending and taking the KV cache
    "vllm": "--kv-transfer-config '{{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_both\"}}'",
    "sglang": "--disaggregation-mode {pool}",
    "trtllm": "--extra_llm_api_options CACHE_TRANSCEIVER.yaml",
}  # fmt: skip
BEFORE = {  # the process that takes requests and sends them to a replica of each pool
    "vllm": "python3 tests/v1/kv_connector/nixl_integration/toy_proxy_server.py --prefiller-hosts {prefill} --decoder-hosts {decode}",
    "sglang": "python3 -m sglang_router.launch_router --pd-disaggregation {prefill} {decode}",
    "trtllm": "trtllm-serve disaggregated -c POOLS.yaml",
}  # fmt: skip


def commands(engine: str, model: str, rig: Deployment, policy: Policy, memory: float, prompts: int, decoders: int) -> str:
    """`command`, or with replicas that only prefill one for each pool and one before them, each under a comment that says for which."""
    one = command(engine, model, rig, policy, memory)
    if not prompts or not one:
        return one
    counts = dict(zip(POOLS, (prompts, decoders), strict=True))
    which = {pool: "the replica" if count == 1 else f"each of the {count} replicas" for pool, count in counts.items()}
    lines = [f"# {which[pool]} for {pool}\n{one} {SENT[engine].format(pool=pool)}" for pool in POOLS]
    hosts = {pool: [f"{pool.upper()}_{i + 1}" for i in range(counts[pool])] for pool in POOLS}
    named = {
        pool: " ".join(f"--{pool} http://{host}:30000" for host in hosts[pool]) if engine == "sglang" else " ".join(hosts[pool])
        for pool in POOLS
    }
    return "\n".join([*lines, f"# before both, with your hosts' names\n{BEFORE[engine].format(**named)}"])


def command(engine: str, model: str, rig: Deployment, policy: Policy, memory: float) -> str:
    """For one replica; "" where the engine is not known. `model` as it was given."""
    at, ways, model = rig.layout, rig.layout.ways, HUB.get(model, model)
    budget, most = policy.budget // ways, max(1, policy.most // ways)
    if engine == "vllm":
        parts = [
            f"vllm serve {model}", _option("--tensor-parallel-size", at.tensor), _option("--pipeline-parallel-size", at.stages),
            _option("--data-parallel-size", at.groups), "--enable-expert-parallel" if at.whole else "",
            f"--max-num-batched-tokens {budget}", f"--max-num-seqs {most}", f"--gpu-memory-utilization {memory:g}",
            f"--kv-cache-dtype {rig.cache}" if rig.cache in CACHES else "", _quantised(rig, "--quantization fp8"),
        ]  # fmt: skip
    elif engine == "sglang":
        parts = [
            f"python3 -m sglang.launch_server --model-path {model}", _option("--tp-size", at.tensor * at.groups),
            _option("--pp-size", at.stages), f"--dp-size {at.groups} --enable-dp-attention" if at.groups > 1 else "",
            f"--ep-size {at.stage_devices}" if at.whole else "", f"--chunked-prefill-size {budget}",
            "--enable-mixed-chunk" if policy.chunked else "", f"--max-running-requests {most}",
            f"--mem-fraction-static {memory:g}", "--kv-cache-dtype fp8_e4m3" if rig.cache in CACHES else "",
            _quantised(rig, "--quantization fp8"),
        ]  # fmt: skip
    elif engine == "trtllm":
        parts = [
            f"trtllm-serve {model}", _option("--tp_size", at.tensor * at.groups), _option("--pp_size", at.stages),
            f"--ep_size {at.stage_devices}" if at.whole else "", f"--max_num_tokens {budget}", f"--max_batch_size {most}",
            f"--kv_cache_free_gpu_memory_fraction {memory:g}",
        ]  # fmt: skip
    else:
        return ""
    return " ".join(filter(None, parts))


def _option(name: str, count: int) -> str:
    return f"{name} {count}" if count > 1 else ""


def _quantised(rig: Deployment, option: str) -> str:
    """A checkpoint in 16 bits that is to be served in FP8; one that is stored so says it itself."""
    return option if rig.products == "fp8" and rig.model.stored != "fp8" else ""
