"""Act II: what fusing saves, and when compiling pays. Two instruments: the fusion explorer and the break-even calculator."""

from ironlaw.labs.lab_07_fusion.act2 import fusion_panel, local_runs, payback_panel, slots

__all__ = ["fusion_panel", "local_runs", "payback_panel", "slots"]
