"""timm: of each family of names in each file, some members spread evenly over timm's own order.

A family is what precedes the first digit or underscore (`resnet`, `swinv`, `vit`); of n members ⌈√n / 1.5⌉ are taken, first and last
among them, which gives small and large ones. `test_` models, made for timm's own tests, are left out.
"""

import math
import re
from collections import defaultdict

from corpus.entry import IMAGE, Entry


def entries():
    import timm
    from timm.models import get_pretrained_cfg_value
    from timm.models._registry import _model_to_module

    families = defaultdict(list)
    for name in timm.list_models(pretrained=False):
        if not name.startswith("test_"):
            families[_model_to_module[name], re.split(r"[\d_]", name)[0]].append(name)
    chosen = [name for names in families.values() for name in spread(names)]
    sizes = {name: (get_pretrained_cfg_value(name, "input_size") or (3, 224, 224))[-1] for name in chosen}
    return [Entry("timm", name, IMAGE, sizes[name]) for name in chosen]


def spread(names):
    """⌈√n / 1.5⌉ of n names, evenly, first and last among them where there are two."""
    count = math.ceil(math.sqrt(len(names)) / 1.5)
    if count == 1:
        return [names[0]]
    return [names[round(i * (len(names) - 1) / (count - 1))] for i in range(count)]


def make(entry, largest=None):
    import timm

    return timm.create_model(entry.name, pretrained=False)


def inputs(model, entry, batch):
    import torch

    return (torch.randn(batch, 3, entry.size, entry.size),), {}
