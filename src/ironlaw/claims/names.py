"""The names that an expression may use, and where each is defined: `name`, or `name=what it is called there`.

A module is imported when the first expression asks for a name of it, so that opening a lab brings only what that lab uses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, MutableMapping
from dataclasses import replace
from importlib import import_module
from typing import Any

PLACES = {
    # registries
    "registry.machines": "hardware machines",
    "registry.workloads": "workload kv_cache",
    "registry.textbooks": "textbook",
    "registry.publications": "published",
    "registry.trained_nets": "trained",
    "registry.compression_tables": "at_bits reader",
    # the laws
    "engine.device.iron_law": "iron_law",
    "engine.device.roofline": "roofline mfu gemm_intensity",
    "engine.device.dispatch": "utilization synchronous queued graph_replay",
    "engine.device.compilation": "breakeven breakeven_days saving devices_needed",
    "engine.device.memory": "kv_bytes=kv_cache footprint live_activations",
    # how much faster the whole gets
    "engine.scaling.amdahl": "amdahl amdahl_ceiling gustafson scaled_share karp_flatt halvings workers_needed",
    "engine.scaling.usl": "usl usl_grown usl_peak fit_usl",
    "engine.scaling.stages": "in_turn pipelined share_after",
    # queues
    "engine.serving.queues": "little mm1 md1 mmc mg1_mean kingman shortest_first_mean erlang_b erlang_c",
    "engine.serving.line": "simulate",
    "engine.serving.batching": "batch_server poisson",
    "engine.streams": "uniform exponential lognormal",
    # tails
    "engine.serving.tails": "at_least_one exponential_tail tail_quantile=quantile fan_out "
    "fan_out_quantile hedged hedge_load lognormal_quantile merged_quantile",
    "engine.serving.hedging": "hedge_fate hedging_run",
    "engine.serving.hedged_fleet": "hedged_fleet",
    "engine.serving.samples": "order_interval least_count",
    "engine.serving.load_testers": "Stalls open_loop closed_loop",
    # services in a row, retries and replicas
    "engine.serving.laws": "service_law=law slowest_call=Slowest",
    "engine.serving.sums": "service_chain=total",
    "engine.serving.service_layers": "Layers",
    "engine.serving.retries": "attempts stuck largest_retries",
    "engine.serving.storms": "Storm run_storm",
    "engine.serving.availability": "in_series replicated",
    # numbers in few bits
    "engine.numerics.grids": "levels step noise_power sqnr_db factor_per_bit",
    "engine.numerics.clipping": "best_gaussian_step best_gaussian_bound gaussian_noise",
    "engine.numerics.storage": "stored_bits csr_bytes csr_breakeven nm_storage low_rank_bytes pruned_macs",
    "engine.numerics.pareto_2d": "Point frontier dominated_by",
    "engine.numerics.decay": "decay",
    "engine.numerics.shares": "wilson trials_needed clopper_pearson",
    # wires and what goes over them
    "registry.boxes": "box",
    "registry.interconnects": "interconnect",
    "registry.decoder_shapes": "decoder",
    "engine.cluster.links": "ring_bandwidth transfer",
    "engine.cluster.collectives": "bus_factor bus_bandwidth collective_time=time crossover",
    "engine.cluster.library": "collective",
    "engine.cluster.expert_exchange": "all_to_all",
    "engine.cluster.volumes": "tensor_bytes",
    "systems.training.placed_steps": "placed_step",
    "registry.timed_wires": "timed_wire",
    "systems.training.bucketed_steps": "bucketed_step",
    # switches between many hosts
    "engine.cluster.topology": "leaf_spine three_tiers fat_tree torus bisection tree_hosts=hosts tree_switches=switches",
    "engine.cluster.loads": "flow torus_all_reduce",
    "engine.cluster.placement": "fragmented",
    "systems.training.fabric_jobs": "shared_tree shared_fabric",
    # failures and checkpoints
    "engine.cluster.failures": "mtbf young daly best_interval=optimum wall goodput waste",
    "engine.cluster.renewals": "renewal_goodput=goodput",
    "registry.runs": "published_run=about between_failures unit_between_failures published_runs=runs",
    # layouts of many devices
    "engine.cluster.layouts": "Layout",
    "engine.cluster.pipelines": "bubble bubble_overhead",
    "systems.training.layout_steps": "layout_step layout_ranking mfu_as_counted",
    "engine.cluster.footprint": "layout_memory=memory layout_activations=activations",
    "engine.cluster.shapes": "token_flops",
    # language models behind a trace
    "registry.traces": "trace",
    "systems.serving.kv_capacity": "token_bytes kv_slots kv_room kv_used batch_gain step_floor",
    "systems.serving.served_cases": "served step_predicted",
    "systems.serving.serving_runs": "replayed",
    # energy, carbon, and what demand makes of a saving
    "engine.rebound": "rebound_energy=energy rebound_price=price rebound_threshold=threshold elasticity_for",
    "engine.energy": "energy_per_token=per_token energy_of_run=of_run carbon carbon_intensity=intensity embodied_share",
    "systems.energy_fleets": "energy_server fleet_year daily_profile tokens_per_second",
    "registry.prices": "rental=price",
    # attacks, and what they leave
    "engine.robustness": "attack_cost evaluation_cost smoothing_radius=radius largest_radius samples_for",
    "registry.adversarial_tables": "attacked",
    # a whole system
    "systems.whole": "SystemDesign=Design Faster system=evaluate halls",
    "systems.whole.whole_levers": "best_lever=best lever",
    "engine.numerics.forecasts": "brier",
    # what a training step keeps
    "engine.training.training_ledger": "training_ledger static_bytes",
    "engine.training.autograd": "kept",
    "engine.training.loss": "with_loss",
    "engine.training.rewrites": "three_kernels",
    "engine.training.checkpointing": "recompute checkpoint_bytes best_checkpoints",
    # groups of people, and decisions about them
    "registry.scored_groups": "groups",
    "engine.parity.rules": "best_rule=best",
    "engine.parity.rates": "fpr_of fnr_of ppv_of odds ray forced_gap Counts=Table",
    # privacy
    "engine.privacy.accountants": "dp_epsilon=epsilon dp_sigma=sigma_for dp_step=step_epsilon dp_mu=limit_mu",
    "engine.privacy.composition": "dp_queries=queries",
    "engine.privacy.attacks": "attack_accuracy=accuracy attack_advantage=advantage gaussian_advantage noise_accuracy",
    "engine.privacy.gaussian": "gaussian_delta gaussian_sigma classical_sigma mean_noise",
    "registry.private_runs": "private_run",
    # graphs
    "engine.device.types": "Graph Tensor",
    "engine.device.work": "op",
    "engine.device.fusion": "fuse",
    "engine.device.fusion_rules": "decide",
    "engine.device.predict": "one_launch predict",
    "engine.device.machine": "Plan",
    "claims.shorthand": "chain attention row",
}
ARITHMETIC: dict[str, Any] = {
    "abs": abs, "min": min, "max": max, "round": round, "sum": sum, "len": len, "ceil": math.ceil, "log10": math.log10,
    "sqrt": math.sqrt, "log": math.log, "exp": math.exp, "inf": math.inf, "replace": replace,
}  # fmt: skip


def _definitions() -> dict[str, tuple[str, str]]:
    """Name -> (module, what it is called there)."""
    listed = {}
    for module, names in PLACES.items():
        for name in names.split():
            alias, _, original = name.partition("=")
            listed[alias] = (f"ironlaw.{module}", original or alias)
    return listed


class Names(MutableMapping[str, Any]):
    """Name -> value, found on first use."""

    def __init__(self) -> None:
        self._values, self._definitions = dict(ARITHMETIC), _definitions()

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            module, original = self._definitions[name]
            self._values[name] = getattr(import_module(module), original)
        return self._values[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._values[name] = value

    def __delitem__(self, name: str) -> None:
        del self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._values, **self._definitions})

    def __len__(self) -> int:
        return len({**self._values, **self._definitions})

    def __contains__(self, name: object) -> bool:
        return name in self._values or name in self._definitions


NAMESPACE = Names()
