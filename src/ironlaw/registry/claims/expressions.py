"""Expressions of claims: Python over `NAMESPACE` and nothing else: no builtins, no names or attributes with a leading underscore."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import CodeType
from typing import Any

from ironlaw.backends.rows import Row
from ironlaw.engine.cluster.collectives import bus_bandwidth, bus_factor, crossover
from ironlaw.engine.cluster.collectives import time as collective_time
from ironlaw.engine.cluster.exchange import all_to_all
from ironlaw.engine.cluster.failures import daly, goodput, mtbf, wall, waste, young
from ironlaw.engine.cluster.failures import optimum as best_interval
from ironlaw.engine.cluster.footprint import activations, memory
from ironlaw.engine.cluster.layouts import Layout
from ironlaw.engine.cluster.library import collective
from ironlaw.engine.cluster.links import ring_bandwidth, transfer
from ironlaw.engine.cluster.loads import flow, torus_all_reduce
from ironlaw.engine.cluster.pipelines import bubble, bubble_overhead
from ironlaw.engine.cluster.placement import fragmented
from ironlaw.engine.cluster.renewals import goodput as renewal_goodput
from ironlaw.engine.cluster.shapes import token_flops
from ironlaw.engine.cluster.topology import bisection, fat_tree, leaf_spine, three_tiers, torus
from ironlaw.engine.cluster.topology import hosts as tree_hosts
from ironlaw.engine.cluster.topology import switches as tree_switches
from ironlaw.engine.cluster.volumes import tensor_bytes
from ironlaw.engine.device.chains import chain as engine_chain
from ironlaw.engine.device.compilation import breakeven, breakeven_days, devices_needed, saving
from ironlaw.engine.device.dispatch import graph_replay, queued, synchronous, utilization
from ironlaw.engine.device.fusion import fuse
from ironlaw.engine.device.fusion_rules import decide
from ironlaw.engine.device.iron_law import iron_law
from ironlaw.engine.device.machine import Plan
from ironlaw.engine.device.memory import footprint, live_activations
from ironlaw.engine.device.memory import kv_cache as kv_bytes
from ironlaw.engine.device.predict import one_launch, predict
from ironlaw.engine.device.roofline import gemm_intensity, mfu, roofline
from ironlaw.engine.device.types import Graph, Tensor
from ironlaw.engine.device.work import op
from ironlaw.engine.energy import carbon, embodied_share
from ironlaw.engine.energy import intensity as carbon_intensity
from ironlaw.engine.energy import of_run as energy_of_run
from ironlaw.engine.energy import per_token as energy_per_token
from ironlaw.engine.numerics.clipping import best_gaussian_bound, best_gaussian_step, gaussian_noise
from ironlaw.engine.numerics.decay import decay
from ironlaw.engine.numerics.forecasts import brier
from ironlaw.engine.numerics.frontier import Point, dominated_by, frontier
from ironlaw.engine.numerics.grids import factor_per_bit, levels, noise_power, sqnr_db, step
from ironlaw.engine.numerics.shares import clopper_pearson, trials_needed, wilson
from ironlaw.engine.numerics.storage import csr_breakeven, csr_bytes, low_rank_bytes, nm_storage, pruned_macs, stored_bits
from ironlaw.engine.parity.rates import Table as Counts
from ironlaw.engine.parity.rates import fnr_of, forced_gap, fpr_of, odds, ppv_of, ray
from ironlaw.engine.parity.rules import best as best_rule
from ironlaw.engine.privacy.accountants import epsilon as dp_epsilon
from ironlaw.engine.privacy.accountants import sigma_for as dp_sigma
from ironlaw.engine.privacy.accountants import step_epsilon as dp_step
from ironlaw.engine.privacy.attacks import accuracy as attack_accuracy
from ironlaw.engine.privacy.attacks import advantage as attack_advantage
from ironlaw.engine.privacy.composition import queries as dp_queries
from ironlaw.engine.privacy.gaussian import classical_sigma, gaussian_delta, gaussian_sigma, mean_noise
from ironlaw.engine.rebound import elasticity_for
from ironlaw.engine.rebound import energy as rebound_energy
from ironlaw.engine.rebound import price as rebound_price
from ironlaw.engine.rebound import threshold as rebound_threshold
from ironlaw.engine.robustness import attack_cost, evaluation_cost, largest_radius, samples_for
from ironlaw.engine.robustness import radius as smoothing_radius
from ironlaw.engine.scaling.amdahl import amdahl, amdahl_ceiling, gustafson, halvings, karp_flatt, scaled_share, workers_needed
from ironlaw.engine.scaling.stages import in_turn, pipelined, share_after
from ironlaw.engine.scaling.usl import fit_usl, usl, usl_grown, usl_peak
from ironlaw.engine.serving.availability import in_series, replicated
from ironlaw.engine.serving.batching import batch_server, poisson
from ironlaw.engine.serving.hedging import hedge_fate, hedging_run
from ironlaw.engine.serving.laws import Slowest
from ironlaw.engine.serving.laws import law as service_law
from ironlaw.engine.serving.layers import Layers
from ironlaw.engine.serving.line import simulate
from ironlaw.engine.serving.queues import erlang_b, erlang_c, kingman, little, md1, mg1_mean, mm1, mmc
from ironlaw.engine.serving.retries import attempts, largest_retries, stuck
from ironlaw.engine.serving.samples import least_count, order_interval
from ironlaw.engine.serving.storms import Storm, run_storm
from ironlaw.engine.serving.sums import total as service_chain
from ironlaw.engine.serving.tails import (
    at_least_one,
    exponential_tail,
    fan_out,
    fan_out_quantile,
    hedge_load,
    hedged,
    lognormal_quantile,
    merged_quantile,
)
from ironlaw.engine.serving.tails import quantile as tail_quantile
from ironlaw.engine.serving.testers import Stalls, closed_loop, open_loop
from ironlaw.engine.streams import exponential, lognormal, uniform
from ironlaw.engine.training.autograd import kept
from ironlaw.engine.training.ledger import static_bytes, training_ledger
from ironlaw.engine.training.loss import with_loss
from ironlaw.engine.training.recompute import best_checkpoints, checkpoint_bytes, recompute
from ironlaw.engine.training.rewrites import three_kernels
from ironlaw.errors import BadRegistry
from ironlaw.registry import evidence
from ironlaw.registry.attacked import attacked
from ironlaw.registry.boxes import box
from ironlaw.registry.bucketed_steps import bucketed_step
from ironlaw.registry.decoder_shapes import decoder
from ironlaw.registry.energy_fleets import daily_profile, energy_server, fleet_year, tokens_per_second
from ironlaw.registry.fabric_jobs import shared_fabric, shared_tree
from ironlaw.registry.interconnects import interconnect
from ironlaw.registry.kv_capacity import batch_gain, kv_room, kv_slots, kv_used, step_floor, token_bytes
from ironlaw.registry.layout_steps import layout_ranking, layout_step, mfu_as_counted
from ironlaw.registry.machines import hardware, machines
from ironlaw.registry.placed_steps import placed_step
from ironlaw.registry.prices import price as rental
from ironlaw.registry.private_runs import private_run
from ironlaw.registry.publications import published
from ironlaw.registry.runs import about as published_run
from ironlaw.registry.runs import between_failures, runs, unit_between_failures
from ironlaw.registry.scored_groups import groups
from ironlaw.registry.served_cases import served, step_predicted
from ironlaw.registry.serving_runs import replayed
from ironlaw.registry.squeezed import at_bits, reader
from ironlaw.registry.system import Design as SystemDesign
from ironlaw.registry.system import Faster, halls
from ironlaw.registry.system import evaluate as system
from ironlaw.registry.system.levers import best as best_lever
from ironlaw.registry.system.levers import lever
from ironlaw.registry.system.starts import start as system_start
from ironlaw.registry.textbooks import textbook
from ironlaw.registry.timed_wires import timed_wire
from ironlaw.registry.traces import trace
from ironlaw.registry.trained_nets import trained
from ironlaw.registry.workloads import kv_cache, workload


def chain(*kinds: str, shape: tuple[float, float] = (1024, 768), dtype: str = "fp16") -> Graph:
    """Ops in a row, all of one shape: `chain("layer_norm", "dropout", "relu")`."""
    return engine_chain(kinds, shape, dtype)


def attention(seq: float, head_dim: float, impl: str = "flash", *, batch: float = 4, heads: float = 32, dtype: str = "fp16") -> Graph:
    """One attention op over `seq` queries and keys; impl is "flash" (tiled) or "naive" (the scores go through memory)."""
    q, k, v = (Tensor(name, (batch, heads, seq, head_dim), dtype, "input") for name in "qkv")
    return Graph("attention", (op("attention", "attention", (q, k, v), (replace(q, name="out", role="activation"),), impl=impl),), dtype)


NAMESPACE: dict[str, Any] = {
    # registries
    "hardware": hardware, "machines": machines, "workload": workload, "kv_cache": kv_cache, "textbook": textbook,
    "published": published, "trained": trained, "at_bits": at_bits, "reader": reader,
    # the laws
    "iron_law": iron_law, "roofline": roofline, "mfu": mfu, "gemm_intensity": gemm_intensity, "utilization": utilization,
    "synchronous": synchronous, "queued": queued, "graph_replay": graph_replay, "breakeven": breakeven,
    "breakeven_days": breakeven_days, "saving": saving, "devices_needed": devices_needed, "kv_bytes": kv_bytes,
    "footprint": footprint, "live_activations": live_activations,
    # how much faster the whole gets
    "amdahl": amdahl, "amdahl_ceiling": amdahl_ceiling, "gustafson": gustafson, "scaled_share": scaled_share, "karp_flatt": karp_flatt,
    "halvings": halvings, "workers_needed": workers_needed, "usl": usl, "usl_grown": usl_grown, "usl_peak": usl_peak, "fit_usl": fit_usl,
    "in_turn": in_turn, "pipelined": pipelined, "share_after": share_after,
    # queues
    "little": little, "mm1": mm1, "md1": md1, "mmc": mmc, "mg1_mean": mg1_mean, "kingman": kingman, "erlang_b": erlang_b,
    "erlang_c": erlang_c, "simulate": simulate, "batch_server": batch_server, "poisson": poisson, "uniform": uniform,
    "exponential": exponential, "lognormal": lognormal,
    # tails
    "at_least_one": at_least_one, "exponential_tail": exponential_tail, "tail_quantile": tail_quantile, "fan_out": fan_out,
    "fan_out_quantile": fan_out_quantile, "hedged": hedged, "hedge_load": hedge_load, "hedge_fate": hedge_fate,
    "hedging_run": hedging_run, "lognormal_quantile": lognormal_quantile, "merged_quantile": merged_quantile,
    "order_interval": order_interval, "least_count": least_count, "Stalls": Stalls, "open_loop": open_loop, "closed_loop": closed_loop,
    # services in a row, retries and replicas
    "service_law": service_law, "service_chain": service_chain, "slowest_call": Slowest, "Layers": Layers, "attempts": attempts,
    "stuck": stuck, "largest_retries": largest_retries, "Storm": Storm, "run_storm": run_storm, "in_series": in_series,
    "replicated": replicated,
    # numbers in few bits
    "levels": levels, "step": step, "noise_power": noise_power, "sqnr_db": sqnr_db, "factor_per_bit": factor_per_bit,
    "best_gaussian_step": best_gaussian_step, "best_gaussian_bound": best_gaussian_bound, "gaussian_noise": gaussian_noise,
    "stored_bits": stored_bits, "csr_bytes": csr_bytes, "csr_breakeven": csr_breakeven, "nm_storage": nm_storage,
    "low_rank_bytes": low_rank_bytes, "pruned_macs": pruned_macs, "Point": Point, "frontier": frontier, "dominated_by": dominated_by,
    "decay": decay, "wilson": wilson, "trials_needed": trials_needed,
    # wires and what goes over them
    "box": box, "interconnect": interconnect, "decoder": decoder, "ring_bandwidth": ring_bandwidth, "transfer": transfer,
    "bus_factor": bus_factor, "bus_bandwidth": bus_bandwidth, "collective": collective, "collective_time": collective_time,
    "all_to_all": all_to_all, "tensor_bytes": tensor_bytes, "placed_step": placed_step, "crossover": crossover, "timed_wire": timed_wire,
    "bucketed_step": bucketed_step,
    # switches between many hosts
    "leaf_spine": leaf_spine, "three_tiers": three_tiers, "fat_tree": fat_tree, "torus": torus, "bisection": bisection, "flow": flow,
    "torus_all_reduce": torus_all_reduce, "fragmented": fragmented, "tree_hosts": tree_hosts, "tree_switches": tree_switches,
    "shared_tree": shared_tree, "shared_fabric": shared_fabric,
    # failures and checkpoints
    "mtbf": mtbf, "young": young, "daly": daly, "best_interval": best_interval, "wall": wall, "goodput": goodput, "waste": waste,
    "renewal_goodput": renewal_goodput, "published_run": published_run, "between_failures": between_failures,
    "unit_between_failures": unit_between_failures,
    # layouts of many devices
    "Layout": Layout, "bubble": bubble, "bubble_overhead": bubble_overhead, "layout_step": layout_step, "layout_ranking": layout_ranking,
    "layout_memory": memory, "layout_activations": activations, "token_flops": token_flops, "published_runs": runs,
    "mfu_as_counted": mfu_as_counted,
    # language models behind a trace
    "trace": trace, "token_bytes": token_bytes, "kv_slots": kv_slots, "kv_room": kv_room, "kv_used": kv_used,
    "batch_gain": batch_gain, "served": served, "step_floor": step_floor, "step_predicted": step_predicted, "replayed": replayed,
    # energy, carbon, and what demand makes of a saving
    "rebound_energy": rebound_energy, "rebound_price": rebound_price, "rebound_threshold": rebound_threshold,
    "elasticity_for": elasticity_for, "energy_per_token": energy_per_token, "energy_of_run": energy_of_run, "carbon": carbon,
    "carbon_intensity": carbon_intensity, "embodied_share": embodied_share, "energy_server": energy_server, "fleet_year": fleet_year,
    "daily_profile": daily_profile, "tokens_per_second": tokens_per_second, "rental": rental,
    # attacks, and what they leave
    "attack_cost": attack_cost, "evaluation_cost": evaluation_cost, "smoothing_radius": smoothing_radius, "largest_radius": largest_radius,
    "samples_for": samples_for, "attacked": attacked, "clopper_pearson": clopper_pearson,
    # a whole system
    "SystemDesign": SystemDesign, "Faster": Faster, "system": system, "system_start": system_start, "best_lever": best_lever,
    "lever": lever, "halls": halls, "brier": brier,
    # what a training step keeps
    "training_ledger": training_ledger, "static_bytes": static_bytes, "kept": kept, "with_loss": with_loss, "three_kernels": three_kernels,
    "recompute": recompute, "checkpoint_bytes": checkpoint_bytes, "best_checkpoints": best_checkpoints,
    # groups of people, and decisions about them
    "groups": groups, "best_rule": best_rule, "fpr_of": fpr_of, "fnr_of": fnr_of, "ppv_of": ppv_of, "odds": odds, "ray": ray,
    "forced_gap": forced_gap, "Counts": Counts,
    # privacy
    "dp_epsilon": dp_epsilon, "dp_sigma": dp_sigma, "dp_step": dp_step, "dp_queries": dp_queries, "attack_accuracy": attack_accuracy,
    "attack_advantage": attack_advantage, "gaussian_delta": gaussian_delta, "gaussian_sigma": gaussian_sigma,
    "classical_sigma": classical_sigma, "mean_noise": mean_noise, "private_run": private_run,
    # graphs
    "Graph": Graph, "Tensor": Tensor, "op": op, "chain": chain, "attention": attention, "fuse": fuse, "decide": decide,
    "one_launch": one_launch, "predict": predict, "Plan": Plan, "replace": replace,
    # arithmetic
    "abs": abs, "min": min, "max": max, "round": round, "sum": sum, "len": len, "ceil": math.ceil, "log10": math.log10,
    "sqrt": math.sqrt, "log": math.log, "exp": math.exp, "inf": math.inf,
}  # fmt: skip


def row(file: str, /, **wanted: Any) -> Row:
    """The one row of an evidence file (`"h200_sxm/micro"`) whose fields or params are as wanted; None means: not there."""
    rows = evidence.file(file).rows
    matches = [r for r in rows if all(r.get(key) == value for key, value in wanted.items())]
    if len(matches) != 1:
        raise BadRegistry(f"evidence {file} has {len(matches)} rows of {len(rows)} with {wanted}; name one")
    return matches[0]


NAMESPACE["row"] = row


def compute(expression: str, where: str, more: Mapping[str, Any] | None = None) -> Any:
    """What an expression over NAMESPACE (and `more`) says; whatever goes wrong, the reader learns where it is written."""
    try:
        return eval(_compiled(expression), {"__builtins__": {}, **NAMESPACE, **(more or {})})
    except Exception as error:
        raise BadRegistry(f"{where}: cannot compute {expression!r}: {error}; fix the expression there") from error


def evaluate(expression: str, where: str, more: Mapping[str, Any] | None = None) -> float:
    """The same as a number."""
    result = compute(expression, where, more)
    try:
        return float(result)
    except (TypeError, ValueError) as error:
        raise BadRegistry(f"{where}: cannot compute {expression!r}: {error}; fix the expression there") from error


def figure(expression: str, where: str, case: Mapping[str, Any]) -> float:
    """The same for a claim under one of its premises, kept for as long as NAMESPACE stays as it is."""
    key = (expression, tuple(sorted(case.items())), tuple(map(id, NAMESPACE.values())))
    if key not in _figures:
        _figures[key] = evaluate(expression, where, case)
    return _figures[key]


_figures: dict[tuple[Any, ...], float] = {}


def literals(expression: str) -> list[float]:
    """The numbers that are written in an expression."""
    tree = ast.parse(f"({expression.strip()})", mode="eval")
    values = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return [float(value) for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]


@cache
def _compiled(expression: str) -> CodeType:
    tree = ast.parse(f"({expression.strip()})", mode="eval")
    for node in ast.walk(tree):
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if name.startswith("_"):
            raise ValueError(f"{name!r} has a leading underscore")
    return compile(tree, "<claim>", "eval")
