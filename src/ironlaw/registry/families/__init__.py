"""Model families: parameters -> Graph, op by op as PyTorch runs the reference implementation eagerly.

To add a family: one file here with `build`, keyword-only, taking exactly its [params] and the settings it has (batch, seq,
context, phase, dtype, classes); one line below.
"""

from __future__ import annotations

from collections.abc import Callable

from ironlaw.engine.device.types import Graph
from ironlaw.registry.families import bert, ds_cnn, gpt2, llama, mlp, mobilenet, moe_family, preact, resnet, unet, vit

FAMILIES: dict[str, Callable[..., Graph]] = {
    "bert": bert.build,
    "ds_cnn": ds_cnn.build,
    "gpt2": gpt2.build,
    "llama": llama.build,
    "mlp": mlp.build,
    "mobilenet": mobilenet.build,
    "moe": moe_family.build,
    "preact": preact.build,
    "resnet": resnet.build,
    "unet": unet.build,
    "vit": vit.build,
}
