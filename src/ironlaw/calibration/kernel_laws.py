"""Which law a kernel follows on a machine that nobody measured, by the curve it follows on one that was."""

from __future__ import annotations

# whose time is the law's own: published rows cover them on several machines
STREAMS = (
    "add", "sub", "mul", "div", "relu", "relu6", "gelu", "gelu_tanh", "tanh", "sigmoid", "silu", "scale", "shift", "neg", "abs", "sqrt",
    "square", "hardtanh", "copy", "elementwise", "fused", "exp", "log", "erf",
)  # fmt: skip
ROWS = {"layer_norm": "layer_norm", "softmax_fp32": "softmax", "softmax_2048_fp32": "softmax_block", "softmax_block_fp32": "softmax_block"}
PUBLISHED = ("gemm", "gemm_fp8")  # carried over, but rows cover them: the measured machine itself follows the law there
# whose time on the machine that was measured is carried over, as much longer or shorter as the law says
LIKE_ROWS = ("rms_norm", "softmax", "softmax_2048", "softmax_block", "log_softmax", "layer_norm_backward", "topk")
# carried over too, but what torch.compile writes keeps a row at hand and moves each byte once, as its element-wise kernels do
GENERATED = ("fused_rows", "fused_reduction")
LIKE_PRODUCTS = ("conv", "gemv", "bmv", "grouped_gemm", "gemm", "bmm", "lstm", "gru", "rnn")
CHOSEN_AT_HOME = ("gemm_pair",)  # slow kernels that the library was seen to choose on the measured chip: no reason to expect them on others
NARROW = ("fp16", "bf16", "tf32", "fp8", "int8")


def law(curve: str, fmt: str) -> tuple[str, bool]:
    """The family whose law a kernel follows, and whether its time is carried over from the measured machine."""
    if curve in STREAMS:
        return "stream", False
    if curve in ROWS:
        return ROWS[curve], False
    if curve in ("attention", "attention_decode"):
        return curve, False
    if curve.startswith("attention"):
        return ("linear_fp32", True) if curve.endswith("fp32") else ("attention", True)
    if curve.startswith(LIKE_PRODUCTS):
        return product(curve, fmt), not plain_product(curve, fmt)
    if curve in LIKE_ROWS:
        return "softmax" if curve.startswith("softmax") else "layer_norm", True
    return "stream", True


def product(curve: str, fmt: str) -> str:
    if fmt in ("fp8", "int8"):
        return "linear_fp8"
    if fmt in NARROW:
        return "linear_16bit"
    return "bmm_fp32" if curve.startswith("bmm") else "conv_fp32" if curve.startswith("conv") else "linear_fp32"


def plain_product(curve: str, fmt: str) -> bool:
    """Whether the law itself is nearer than what is carried over: in FP32. Products at 16 bits came out nearer the other way round, with
    an A100's rows off by 15% against 23%."""
    return fmt == "fp32" and curve in ("gemm_fp32", "bmm_fp32", "bmm_fp32_odd", "conv_fp32")
