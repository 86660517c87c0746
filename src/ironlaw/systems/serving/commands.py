"""The commands that start an engine as an answer says: one for every replica, or one for each pool and one for what stands before them."""

from __future__ import annotations

import json
import shlex
from typing import Any

from ironlaw.engine.serving.llm.policy import Policy
from ironlaw.systems.serving.deployments import Deployment
from ironlaw.systems.serving.engine_formats import NAMES, Formats, formats

HUB = {  # where engines find models of the registry
    "llama3_8b": "meta-llama/Meta-Llama-3-8B-Instruct", "llama3_70b": "meta-llama/Meta-Llama-3-70B-Instruct",
    "llama3_2_1b": "meta-llama/Llama-3.2-1B-Instruct", "qwen2_0_5b": "Qwen/Qwen2-0.5B-Instruct",
}  # fmt: skip
POOLS = ("prefill", "decode")
SENT = {  # what makes a replica one of a pool: the engine's option for sending and taking the KV cache
    "vllm": " --kv-transfer-config '{{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_both\"}}'",
    "sglang": " --disaggregation-mode {pool}",
    "trtllm": "",  # in its file
}  # fmt: skip
BEFORE = {  # the process that takes requests and sends them to a replica of each pool
    "vllm": "python3 tests/v1/kv_connector/nixl_integration/toy_proxy_server.py --prefiller-hosts {prefill} --decoder-hosts {decode}",
    "sglang": "python3 -m sglang_router.launch_router --pd-disaggregation {prefill} {decode}",
    "trtllm": "trtllm-serve disaggregated -c pools.yaml",
}  # fmt: skip


def commands(
    engine: str, model: str, rig: Deployment, policy: Policy, memory: float, prompts: int, decoders: int, draft: str = ""
) -> str:  # fmt: skip
    """`command`, or with replicas that only prefill one for each pool and one before them, each under a comment that says for which."""
    if not prompts or engine not in NAMES:
        return command(engine, model, rig, policy, memory, draft)
    counts = dict(zip(POOLS, (prompts, decoders), strict=True))
    which = {pool: "the replica" if count == 1 else f"each of the {count} replicas" for pool, count in counts.items()}
    lines: list[str] = []
    for pool in POOLS:
        once, file, line = _start(engine, model, rig, policy, memory, draft, pool)
        lines += [*([] if lines else once), f"# {which[pool]} for {pool}", *file, line + SENT[engine].format(pool=pool)]
    hosts = {pool: [f"{pool.upper()}_{i + 1}" for i in range(counts[pool])] for pool in POOLS}
    named = {
        pool: " ".join(f"--{pool} http://{host}:30000" for host in hosts[pool]) if engine == "sglang" else " ".join(hosts[pool])
        for pool in POOLS
    }
    lines.append("# before both, with your hosts' names")
    if engine == "trtllm":
        servers = {
            name: {"num_instances": len(hosts[pool]), "urls": [f"{host}:8000" for host in hosts[pool]]}
            for name, pool in zip(("context_servers", "generation_servers"), POOLS, strict=True)
        }
        lines.append(_file("pools.yaml", {"hostname": "0.0.0.0", "port": 8000, "backend": "pytorch", **servers}))
    return "\n".join([*lines, BEFORE[engine].format(**named)])


def command(engine: str, model: str, rig: Deployment, policy: Policy, memory: float, draft: str = "") -> str:
    """For one replica; "" where the engine is not known. `model` and `draft` as they were given. What has to be done first stands in lines
    before it."""
    if engine not in NAMES:
        return ""
    once, file, line = _start(engine, model, rig, policy, memory, draft, "")
    return "\n".join([*once, *file, line])


def _start(
    engine: str, model: str, rig: Deployment, policy: Policy, memory: float, draft: str, pool: str
) -> tuple[list[str], list[str], str]:  # fmt: skip
    """What is done once, a file that is written, and the command."""
    told, draft, file = formats(engine, HUB.get(model, model), rig), HUB.get(draft, draft), list[str]()
    if policy.scheduling == "static":
        told.before.append(f"# {NAMES[engine]} has no static batches; this starts it with continuous ones")
    if policy.preemption == "swap":
        told.before.append(f"# {NAMES[engine]} recomputes what it stops, and has no option to swap it to the host")
    at, ways, path = rig.layout, rig.layout.ways, shlex.quote(told.model)
    budget, most = policy.budget // ways, max(1, policy.most // ways)
    if engine == "vllm":
        parts = [
            f"vllm serve {path}", _option("--tensor-parallel-size", at.tensor), _option("--pipeline-parallel-size", at.stages),
            _option("--data-parallel-size", at.groups), "--enable-expert-parallel" if at.whole else "",
            f"--max-num-batched-tokens {budget}", f"--max-num-seqs {most}", f"--gpu-memory-utilization {memory:g}",
            "" if policy.chunked else "--no-enable-chunked-prefill", *told.options, _vllm_guesses(policy, draft),
        ]  # fmt: skip
    elif engine == "sglang":
        parts = [
            f"python3 -m sglang.launch_server --model-path {path}", _option("--tp-size", at.tensor * at.groups),
            _option("--pp-size", at.stages), f"--dp-size {at.groups} --enable-dp-attention" if at.groups > 1 else "",
            f"--ep-size {at.stage_devices}" if at.whole else "",
            f"--chunked-prefill-size {budget} --enable-mixed-chunk" if policy.chunked else
            f"--chunked-prefill-size -1 --max-prefill-tokens {budget}", f"--max-running-requests {most}",
            f"--mem-fraction-static {memory:g}", *told.options, _sglang_guesses(policy, draft),
        ]  # fmt: skip
    else:
        place = f"{pool or 'engine'}.yaml"
        file = [_file(place, _trtllm_settings(rig, policy, draft, pool, told))]
        parts = [
            f"trtllm-serve {path}", _option("--tp_size", at.tensor * at.groups), _option("--pp_size", at.stages),
            f"--ep_size {at.stage_devices}" if at.whole else "", f"--max_num_tokens {budget}", f"--max_batch_size {most}",
            f"--kv_cache_free_gpu_memory_fraction {_free_share(rig, memory):g}", f"--extra_llm_api_options {place}",
        ]  # fmt: skip
    return told.before, file, " ".join(filter(None, [told.environment, *parts]))


def _free_share(rig: Deployment, memory: float) -> float:
    """The cache's share of what weights and activations leave of a device, to whole percents: so TensorRT-LLM counts it."""
    left = float(rig.hardware.usable) - rig.weight_bytes - rig.activation_bytes
    return max(0.01, min(memory, int(100 * rig.cache_bytes / left + 1e-6) / 100))


def _trtllm_settings(rig: Deployment, policy: Policy, draft: str, pool: str, told: Formats) -> dict[str, Any]:
    """What TensorRT-LLM takes from a file alone."""
    own: dict[str, Any] = dict(told.settings)
    own["enable_chunked_prefill"] = policy.chunked
    if rig.layout.groups > 1:
        own["enable_attention_dp"] = True
    if pool:  # what computes prompts can't prepare the next step during this one
        own["cache_transceiver_config"] = {"backend": "DEFAULT", "max_tokens_in_buffer": policy.budget}
        own["disable_overlap_scheduler"] = pool == POOLS[0]
    if policy.speculation is not None:
        guess: dict[str, Any] = {"max_draft_len": policy.speculation.tokens}
        how = {"decoding_type": "DraftTarget", "speculative_model_dir": draft} if draft else {"decoding_type": "NGram"}
        own["speculative_config"] = how | guess
    return own


def _vllm_guesses(policy: Policy, draft: str) -> str:
    if policy.speculation is None:
        return ""
    how = f'"model":"{draft}"' if draft else '"method":"ngram","prompt_lookup_max":4'
    return f"--speculative-config '{{{how},\"num_speculative_tokens\":{policy.speculation.tokens}}}'"


def _sglang_guesses(policy: Policy, draft: str) -> str:
    if policy.speculation is None:
        return ""
    count = policy.speculation.tokens
    if not draft:
        return f"--speculative-algorithm NGRAM --speculative-num-draft-tokens {count + 1}"
    steps = f"--speculative-num-steps {count} --speculative-eagle-topk 1 --speculative-num-draft-tokens {count + 1}"
    return f"--speculative-algorithm STANDALONE --speculative-draft-model-path {draft} {steps}"


def _file(name: str, settings: dict[str, Any]) -> str:
    """The shell's line that writes a file of settings: YAML takes JSON as it is."""
    return f"echo '{json.dumps(settings)}' > {name}"


def _option(name: str, count: int) -> str:
    return f"{name} {count}" if count > 1 else ""
