"""ironlaw: where the time goes in an ML system. T = D/BW + O/R + L.

>>> import ironlaw as il
>>> p = il.predict(il.workload("resnet50", batch=1, dtype="fp16"), il.hardware("h100_sxm"))
>>> p.bound
'overhead'
>>> il.analyze(il.workload("resnet50"), on="h200,t4", modes=["compiled"]).fastest("h200_sxm").label
'calibrated'
"""

from typing import TYPE_CHECKING

from ironlaw.version import __version__ as __version__

if TYPE_CHECKING:
    from ironlaw.engine.device.machine import Hardware, Plan
    from ironlaw.engine.device.prediction import Prediction
    from ironlaw.engine.device.types import Graph
    from ironlaw.errors import IronlawError
    from ironlaw.registry.machines import hardware
    from ironlaw.report.analyze import analyze
    from ironlaw.report.prediction_diff import Diff as diff
    from ironlaw.report.predictions import Predictions as predictions
    from ironlaw.studies.study_outcome import run_study
    from ironlaw.studies.study_outcome import run_study as study
    from ironlaw.systems.advice import advise
    from ironlaw.systems.launched_workloads import workload
    from ironlaw.systems.named_calls import breakeven, fuse, host, hosts, kv_cache, machines, predict, roofline, workloads
    from ironlaw.systems.questions.capacity import Capacity as capacity
    from ironlaw.systems.questions.capacity import Capacity as serve
    from ironlaw.systems.questions.cluster import Cluster as cluster
    from ironlaw.systems.questions.levers import Levers as levers
    from ironlaw.systems.questions.memory import Memory as memory
    from ironlaw.systems.questions.privacy import Privacy as privacy
    from ironlaw.systems.questions.quantise import Quantise as quantise
    from ironlaw.systems.questions.queue import Queue as queue
    from ironlaw.systems.questions.scale import Scale as scale
    from ironlaw.systems.questions.slo import Slo as slo
    from ironlaw.tracing import capture, register_cost

__all__ = [
    "Graph", "Hardware", "IronlawError", "Plan", "Prediction", "advise", "analyze", "breakeven", "capacity", "capture", "cluster", "diff",
    "fuse", "hardware", "host", "hosts", "kv_cache", "levers", "machines", "memory", "predict", "predictions", "privacy", "quantise",
    "queue", "register_cost", "roofline", "run_study", "scale", "serve", "slo", "study", "workload", "workloads",
]  # fmt: skip
HOMES = {
    "engine.device.machine": ("Hardware", "Plan"),
    "engine.device.prediction": ("Prediction",),
    "engine.device.types": ("Graph",),
    "errors": ("IronlawError",),
    "systems.advice": ("advise",),
    "registry.machines": ("hardware",),
    "systems.launched_workloads": ("workload",),
    "systems.named_calls": ("breakeven", "fuse", "host", "hosts", "kv_cache", "machines", "predict", "roofline", "workloads"),
    "report.analyze": ("analyze",),
    "studies.study_outcome": ("run_study",),
    "tracing": ("capture", "register_cost"),
}  # what each module gives this one, on first use: a command that needs little of it starts at once
QUESTIONS = {
    "capacity": "systems.questions.capacity:Capacity",
    "cluster": "systems.questions.cluster:Cluster",
    "diff": "report.prediction_diff:Diff",
    "levers": "systems.questions.levers:Levers",
    "memory": "systems.questions.memory:Memory",
    "predictions": "report.predictions:Predictions",
    "privacy": "systems.questions.privacy:Privacy",
    "quantise": "systems.questions.quantise:Quantise",
    "queue": "systems.questions.queue:Queue",
    "scale": "systems.questions.scale:Scale",
    "serve": "systems.questions.capacity:Capacity",
    "slo": "systems.questions.slo:Slo",
    "study": "studies.study_outcome:run_study",
}  # what commands ask, by the command's name: `il.queue(rate=160, service="5 ms")`

if not TYPE_CHECKING:

    def __getattr__(name):
        from importlib import import_module

        home, _, own = QUESTIONS.get(name, "").partition(":")
        home = home or next((home for home, given in HOMES.items() if name in given), "")
        if not home:
            raise AttributeError(f"module 'ironlaw' has no attribute {name!r}")
        globals()[name] = value = getattr(import_module(f"ironlaw.{home}"), own or name)
        return value

    def __dir__():
        return sorted({*__all__, *(name for name in globals() if not name.isupper())})
