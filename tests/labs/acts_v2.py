"""Volume II's labs for the contract: see acts.py."""

from acts import Act, Lab, both

PAIR, PORTS = {"toggle": "h100_sxm", "boxes": 2, "nics": 8}, {"rails": True, "leaf_thin": 3}
META = {"pipeline": 16, "virtual": 8, "zero": 2}
LEVELS = {"algorithm": "two_level"}
HOSTS = {"away": 0}
LARGE = {"gpus": 131_072, "away": 0}
PIECES = {"prompts": "chunked", "budget": 512}
CALM = {"limit": 40, "load": 200, "common": 5}
QUIET = {"rate": 0.16, "noise": 4.0, "clip": 0.3, "speed": 10.0, "epochs": 30, "runs": 1}
BEST = {"model": "Bartoldson2024Adversarial_WRN-94-16", "device": "h100_sxm"}
B200 = {"server": "70b-b200-256", "servers": 65, "passed": 25}
VOLUME_2 = (
    Lab(
        "lab_v2_02_interconnect", "edge pcie_four p90 data", ("23.6", "8.3×", "89.7", "34.7", "Slowest edge", "over the cliff"),
        (
            Act(
                "act1", where="a100_80gb_sxm", bases=({"ranks": 16, "nics": 4}, {"ranks": 16, "nics": 4, "second": 9}),
                still=(("wires", "by-size"), tuple({"size": size} for size in (0.001, 1, 4000))),
            ),
            Act(
                "act2", "act2.verdict",
                {
                    "memory": both({**PAIR, "tensor": 1, "zero": 0}, {"zero": 3}),
                    "tp_over_cliff": both({**PAIR, "tensor": 16, "nics": 1}, {"tensor": 4}),
                    "nic_starved": both({**PAIR, "tensor": 2, "nics": 1}, {"nics": 8}),
                    "costly": both({**PAIR, "tensor": 8}, {"tensor": 4}),
                    "works": both({**PAIR, "tensor": 2}, {"nics": 1}),
                },
                ({"toggle": "h100_sxm", "nics": 1, "tensor": 2, "overlap": 50},), "h100_sxm",
            ),
        ),
    ),
    Lab(
        "lab_v2_03_fabric", "x1 place experts rails", ("12.5", "3.88", "1.65", "370", "Everything waits", "wait for their uplinks"),
        (
            Act("act1", bases=({"scattered": 50},), where="leaf_spine"),
            Act(
                "act2", "act2.verdict",
                {
                    "no_such_tree": both({"radix": 32}, PORTS), "ports": both({"leaf_thin": 1.0}, {"leaf_thin": 4.0}),
                    "cut_saturated": both({}, PORTS), "fragmented": both({**PORTS, "scattered": 100}, "scattered"),
                    "slow": both({"gbits": 800, "experts": 64, "leaf_thin": 4.0, "top_k": 1}, PORTS),
                    "bad_day": both({"rails": True}, PORTS), "works": both(PORTS, {"scattered": 100}),
                },
                ({"tiers": 3, "radix": 64, "leaf_thin": 2.0, "pod_thin": 2.0, "scattered": 50},),
            ),
        ),
    ),
    Lab(
        "lab_v2_05_parallelism", "p31 work as_many bubble", ("0.968×", "over the cliff", "11 of 35"),
        (
            Act(
                "act1", bases=({},),
                still=(("gantt", "pieces", "more-gpus"), ({}, {"tensor": 4}, {"pipeline": 8}, {"data": 12}, {"into": 40})),
            ),
            Act(
                "act2", "act2.verdict",
                {
                    "indivisible": both({"pipeline": 64, "virtual": 4, "zero": 2}, {"virtual": 2}),
                    "starved": both({**META, "seq": 131072, "pipeline": 8, "context": 1}, {"context": 16}),
                    "memory": both({}, {"recompute": "full", "virtual": 8}),
                    "bubble": both({"pipeline": 16, "zero": 1, "gradient_bytes": 2}, {"virtual": 8}),
                    "cliff": both({**META, "tensor": 16, "nics": 1}, {"tensor": 8, "nics": 8}),
                    "nics": both({**META, "nics": 1}, {"nics": 8}),
                    "slow": both({"pipeline": 8, "virtual": 8, "recompute": "full"}, {"pipeline": 16, "recompute": "none", "zero": 2}),
                    "works": both(META, {"zero": 1}),
                },
                (META, {"model": "gpt3_175b", "devices": 1024, "pipeline": 8}), seen=("figures", "cards"), after=("good", "warn"),
            ),
        ),
    ),
    Lab(
        "lab_v2_06_collectives", "cross steps p84 between", ("8.82", "510", "83.7", "480", "They cross at", "takes most of it"),
        (
            Act(
                "act1", bases=({"first": "double_tree", "second": "two_level", "pieces": "fixed"},),
                still=(
                    ("by-size", "steps", "spacetime"),
                    ({"size": 0.001, "alpha": 0.1}, {}, {"size": 16_000, "alpha": 1000}),
                ),
            ),
            Act(
                "act2", "act2.verdict",
                {
                    "impossible": both({"zero": 0}, {"zero": 1}), "latency_bound": both(LEVELS, {"bucket": 100}),
                    "buffers": both({**LEVELS, "bucket": 100, "order": "by_layer"}, "order"),
                    "exposed": both({"algorithm": "rabenseifner"}, {"algorithm": "two_level"}),
                    "costly": both({**LEVELS, "model": "llama3_2_1b", "bucket": 1000, "width": 4}, {"bucket": 100}),
                    "passed": both({**LEVELS, "bucket": 100}, {"order": "by_layer"}),
                },
            ),
        ),
    ),
    Lab(
        "lab_v2_07_checkpoint", "root halves restart root", ("18.6", "9.89", "74.6", "19.6", "Best interval", "Within one point"),
        (
            Act(
                "act1",
                still=(
                    ("waste", "day"),
                    (
                        {"gpus": 64, "unit": 500_000, "save": 0.1, "restart": 0, "interval": 0.1}, {},
                        {"gpus": 131_072, "unit": 2000, "save": 3600, "restart": 120, "interval": 1440},
                    ),
                ),
            ),
            Act(
                "act2", "act2.verdict",
                {
                    "ram": both({**HOSTS, "gpus": 256, "near": "host", "memory": 100}, {"memory": 500}),
                    "storm": both({**HOSTS, "saving": "async", "storage": 0.01, "far_every": 5}, {"storage": 2}),
                    "no_progress": both({**LARGE, "restart": 3600, "detect": 1800}, {"restart": 60, "detect": 60}),
                    "spares": both({"spares": 20, "away": 24}, {"spares": 164}), "goodput": both(LARGE, {"gpus": 1024}),
                    "works": both({**HOSTS, "gpus": 16_384, "far_every": 5}, {"far_every": 240}),
                },
                ({"near": "host", "saving": "async"}, {"near": "neighbour"}), seen=("figures", "cards", "banner"),
            ),
        ),
    ),
    Lab(
        "lab_v2_10_kv_serving", "dozen fp8 third replica", ("12 requests", "42.9", "500 ms", "46 ms", "1.49", "Answers stutter"),
        (
            Act(
                "act1", "act1.instrument",
                {"too_large": ({"devices": 1}, {}), "no_slot": both({"devices": 2, "context": 1_048_576}, {"context": 4096})},
                ({"law": "chat", "context": 16_384},), "h100_sxm",
            ),
            Act(
                "act2", "act2.verdict",
                {
                    "oom": both({**PIECES, "devices": 1}, "devices"), "thrash": both({**PIECES, "devices": 2}, "devices"),
                    "unstable": both({**PIECES, "rate": 2}, "rate"), "ttft": both({**PIECES, "budget": 256, "rate": 1.25}, {"rate": 0.75}),
                    "tbt": ({}, PIECES), "kept": both(PIECES, {"rate": 2}),
                },
                ({**PIECES, "devices": 2, "rate": 0.75},), "h100_sxm",  # so small a cache that some must make room
                still=(("over-time", "times"), ({"at": 0}, {"at": 40})),
            ),
        ),
    ),
    Lab(
        "lab_v2_12_slo", "meet together none all", ("252", "50.4", "1.4 ", "64 attempts", "metastable", "320", "don't add"),
        (
            Act(
                "act1", bases=({"toggle": "chain"}, {"law": "lognormal"}, {"law": "pareto"}, {"toggle": "answer"}), where="chain",
                seen=("figures",),
            ),
            Act(
                "act2", "act2.verdict",
                {
                    "timeout_inversion": both({"growth": 1.0}, {"growth": 1.1}), "storm": both({}, {"limit": 40}),
                    "slow_return": both({"load": 300, "budget": 20}, {"budget": 10}),
                    "slo": both({"limit": 40, "load": 380}, {"replicas": 5}),
                    "availability": both({"limit": 40, "common": 5}, {"replicas": 5}),
                    "hedge_cost": both({**CALM, "hedge": 90}, {"hedge": 95}), "works": both(CALM, {"replicas": 2}),
                },
                ({"load": 320, "budget": 50},), seen=("figures", "cards", "banner"), after=(),
            ),
        ),
    ),
    Lab(
        "lab_v2_13_privacy", "slightly neither clip tenth", ("1.04", "16.8", "0.947", "0.942", "Correct guesses"),
        (
            Act(
                "act1", where="digits", seen=("figures",),
                still=(
                    ("attack",),  # the budgets lie up to eight decades apart: their axis follows them
                    (
                        {"batch": 100_000, "noise": 0.3, "epochs": 1_000, "one_in": 10**9},
                        {"records": 1_000_000, "noise": 16, "epochs": 1, "one_in": 100},
                        {"records": 1_000_000, "noise": 0.3, "epochs": 1_000, "one_in": 10**9},
                    ),
                ),
            ),
            Act(
                "act2", "act2.verdict",
                {
                    "delta": both({**QUIET, "one_in": 100}, {"one_in": 10**4}), "overspent": both({"noise": 1.0}, {"noise": 8.0}),
                    "unproven": both({**QUIET, "accountant": "gdp"}, {"accountant": "rdp"}),
                    "noise_only": both({"noise": 4.0, "clip": 0.3, "runs": 1}, {"records": 4_000, "one_in": 10**5}),
                    "clipped": both({**QUIET, "clip": 0.03, "speed": 1.0}, {"clip": 1.0}),
                    "floor": both({**QUIET, "clip": 1.0, "speed": 30.0}, {"clip": 0.3, "speed": 10.0}), "works": both(QUIET, {"runs": 50}),
                },
                where="digits", seen=("figures", "cards"), elsewhere=("pins",),
            ),
        ),
    ),
    Lab(
        "lab_v2_14_adversarial", "none suited many_times fifth",
        ("74.04", "0.00", "0.037", "8.51×", "7.67×", "Claims that fell", "ClusTR"),
        (
            Act("act1", bases=({"attack": "pgd"},), where="cifar10", seen=("figures",)),
            Act(
                "act2", "act2.verdict",
                {
                    "unproven": both({**BEST, "model": "Alfarra2020ClusTR"}, BEST), "thin": both({**BEST, "steps": 9}, {"steps": 10}),
                    "noisy": both({**BEST, "noise": "on"}, "noise"), "below": both({**BEST, "model": "Standard"}, BEST),
                    "dominated": both({**BEST, "members": 2}, "members"), "latency": both({**BEST, "device": "l4"}, BEST),
                    "budget": both({**BEST, "images": 200}, "images"), "open": both({**BEST, "model": "Bai2024MixedNUTS"}, BEST),
                    "works": both(BEST, {"batch": 256}),
                },
                ({"noise": "on"},), "cifar10",
                still=(
                    ("certificate",),  # the places follow the machine and the batch, five decades in all
                    (
                        {"model": "JinRinard2020Manifold", "batch": 1, "mode": "compiled"},
                        {**BEST, "device": "agx_orin_64gb", "batch": 256, "dtype": "fp32", "members": 5, "noise": "on", "samples": 100_000},
                    ),
                ),
            ),
        ),
    ),
    Lab(
        "lab_v2_15_jevons", "less batching wait much", ("63.8", "4.27", "128%", "997", "623", "Backfires from"),
        (
            Act(
                "act1", "act1.instrument",
                {"less": ({}, {"share": 100}), "depends": ({"share": 100}, {}), "backfires": both({"share": 100, "low": 1.2}, "low")},
                ({}, {"by": "bill"}), "own", ("figures",),
                still=(
                    ("plane", "by-batch"),  # the change follows its data, or it would fill a fifth of the plot
                    (
                        {"gain": 1.1, "low": 0, "high": 0, "share": 0, "passed": 0, "cost": 150},
                        {"gain": 100, "low": 5, "high": 5, "share": 100, "cost": 1}, {"gain": 100, "low": 0, "high": 5, "share": 0},
                    ),
                ),
            ),
            Act(
                "act2", "act2.verdict",
                {
                    "slo": both({"server": "70b-512"}, {"limit": 400}), "short": both({"servers": 80}, {"servers": 120}),
                    "power": both({"region": "hydro"}, {"region": "gas"}), "idle": both({**B200, "servers": 240}, {"servers": 65}),
                    "backfire": both({**B200, "passed": 100, "servers": 150}, {"high": 0.9}),
                    "over_budget": both({}, {"requests": 500, "servers": 70}), "works": both(B200, {"region": "coal"}),
                },
                ({"server": "70b-512", "limit": 400},), seen=("figures", "cards", "banner"),
            ),
        ),
    ),
    Lab(
        "lab_v2_17_synthesis", "quarter theme flops seven", ("Brier score", "75%", "6 of 8", "72.7"),
        (
            Act(
                "act2", seen=("figures", "cards", "banner"),
                bases=(
                    {"pipeline": 4, "virtual": 2, "thin": 2, "scattered": 0.3, "spares": 1, "budget": 512, "retries": 1, "hall": "new",
                     "noise": 0.7, "near": "host", "nics": 4},
                ),
            ),
        ),
    ),
)  # fmt: skip
