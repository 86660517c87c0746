"""How long the simulator of a serving engine takes: 20,000 requests under each policy, beside plain continuous batching in the same run.

PYTHONPATH=src python3 benchmarks/serving.py [--requests 20000]
"""

import argparse
import time

from ironlaw import Plan, hardware
from ironlaw.engine.serving.llm.cache import blocks, pool_blocks
from ironlaw.engine.serving.llm.policy import PREEMPTIONS, Policy, Speculation
from ironlaw.engine.serving.llm.replica import serve
from ironlaw.engine.serving.llm.replicas import apart
from ironlaw.engine.serving.llm.requests import Spread, arriving
from ironlaw.registry.decoders import decoder, steps, weight_bytes

POLICIES = {
    "continuous, prompts in pieces": Policy(),
    "continuous, whole prompts": Policy(chunked=False, budget=8192),
    "static": Policy(scheduling="static", most=64),
    "speculative": Policy(speculation=Speculation(4, 0.7)),
    "prefixes shared": Policy(sharing=True),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=20_000)
    args = parser.parse_args()
    machine, model = hardware("h200_sxm"), decoder("llama3_8b")
    start = time.process_time()
    table = steps(model, machine, Plan(mode="eager_graphs"))
    print(f"table of steps: {time.process_time() - start:.2f} s")
    start, count = time.process_time(), 20_000
    for i in range(count):
        table.seconds(50, 50 * 700 + i, ((500, 100),), 1)
    print(f"one step looked up: {(time.process_time() - start) / count * 1e6:.1f} us")
    room = pool_blocks(0.9 * machine.usable - weight_bytes(model), model.cache(), 16)
    requests = arriving(5.5, args.requests, Spread(1155, 1.0), Spread(211, 1.0), seed=1, prefix=128)
    base = 0.0
    for name, policy in POLICIES.items():
        start = time.process_time()
        out = serve(requests, table, room, policy)
        taken = time.process_time() - start
        base = base or taken
        print(f"{name}: {taken:.2f} s ({taken / base:.2f} x), {out.steps:,} steps in {len(out.moments):,} stretches")
    small = max(blocks(r.prompt + r.output, 16) for r in requests)  # holds the longest and no more: requests make room for each other
    for preemption in PREEMPTIONS:
        start = time.process_time()
        out = serve(requests, table, small, Policy(preemption=preemption), swap=1e-5)
        taken = time.process_time() - start
        print(f"a small cache, {preemption}: {taken:.2f} s ({taken / base:.2f} x), {out.preempted:,} times that one made room")
    start = time.process_time()
    apart(requests, table, room, Policy(), prompts=1, decoders=1, move=1e-6)
    taken = time.process_time() - start
    print(f"prompts apart: {taken:.2f} s ({taken / base:.2f} x)")


if __name__ == "__main__":
    main()
