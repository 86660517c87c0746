"""diffusers: UNets, diffusion transformers and autoencoders, with the defaults of their constructors.

Taken is every class of `diffusers` whose name begins with UNet or Autoencoder, or holds Transformer2D or Transformer3D, that can be made
without arguments and whose forward asks for nothing but what diffusers_inputs.py has a rule for.
A default of more than LARGEST parameters gets fewer layers, as in transformers.
"""

import inspect
import warnings
from functools import cache

from corpus.diffusers_inputs import inputs, known
from corpus.entry import Entry
from corpus.transformers_models import LARGEST

__all__ = ["entries", "inputs", "make"]
LAYERS = ("num_layers", "num_single_layers", "num_refiner_layers", "n_layers", "num_double_layers", "depth")
SIDE = 64  # of a latent: an image of 512²
PICTURE = 256  # what an autoencoder is given


def entries():
    import diffusers

    names = sorted(n for n in dir(diffusers) if n.startswith(("UNet", "Autoencoder")) or "Transformer2D" in n or "Transformer3D" in n)
    kept = [n for n in names if not n.endswith("XSModel") and makes_itself(getattr(diffusers, n)) and known(getattr(diffusers, n).forward)]
    return [
        Entry("diffusers", n, "image" if n.startswith("Autoencoder") else "latent", PICTURE if n.startswith("Autoencoder") else SIDE)
        for n in kept
    ]


def makes_itself(cls):
    """Whether a class needs no argument."""
    if not inspect.isclass(cls):
        return False
    given = list(inspect.signature(cls.__init__).parameters.values())[1:]
    return all(p.default is not p.empty or p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in given)


@cache
def settings(name, largest):
    """Fewer layers where the default is too large: half as many, again and again, down to two."""
    import diffusers
    import torch

    cls = getattr(diffusers, name)
    given = inspect.signature(cls.__init__).parameters
    layers = {n: given[n].default for n in LAYERS if n in given and isinstance(given[n].default, int)}
    chosen = {}
    with torch.device("meta"):
        while sum(p.numel() for p in cls(**chosen).parameters()) > largest and chosen != dict.fromkeys(layers, 2):
            chosen = {n: max(2, chosen.get(n, v) // 2) for n, v in layers.items()}
    return chosen


def make(entry, largest=LARGEST):
    import diffusers

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(diffusers, entry.name)(**settings(entry.name, largest))
