"""How models are listed: a builder for each name, and the parameters that it is measured with."""

import torch
from gpu import DTYPES


class Builders:
    """(name, parameters, builder) of every row to be measured; `compiled` are those that torch.compile gets too."""

    def __init__(self):
        self.models, self.compiled = [], []

    def model(self, name, dtype="fp16", compiled=(), **sweep):
        """List a builder: `sweep` maps a parameter to the values it takes."""

        def register(build):
            batches = sweep.pop("batch", (1,))
            for batch in batches:
                params = {"batch": batch, **sweep, "dtype": dtype}
                self.models.append((name, params, build))
                if batch in compiled:
                    self.compiled.append((name, params, build))
            return build

        return register


def image(batch, channels=3, size=224):
    """A random image batch, on the default device."""
    return torch.randn(batch, channels, size, size)


def tokens(batch, seq, vocab):
    """Random token ids, on the default device."""
    return torch.randint(vocab, (batch, seq))


def build_model(params, build, device):
    """The model on the device in its dtype, and the call that runs it."""
    dtype = DTYPES[params["dtype"]]
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            built, args, kwargs = build(params)
    finally:
        torch.set_default_dtype(before)
    built = built.to(device, dtype).eval()
    args = tuple(a.to(dtype) if a.is_floating_point() else a for a in args)
    return built, args, kwargs
