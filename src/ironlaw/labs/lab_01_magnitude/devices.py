"""The two devices that the questions compare, in every context."""

CLOUD, TINY = "h100_sxm", "cortex_m7"
PHONE = "a17_npu"  # of a reflection
