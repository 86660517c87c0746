"""Act II: what fusing saves, what tiling saves, and when compiling pays: an instrument each."""

from ironlaw.labs.lab_07_fusion.act2 import attention_panel, fusion_panel, local_runs, payback_panel, slots

__all__ = ["attention_panel", "fusion_panel", "local_runs", "payback_panel", "slots"]
