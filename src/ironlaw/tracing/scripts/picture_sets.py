"""torchvision's data sets where their files are not there: pictures of the same size that show nothing. Nothing is downloaded."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib import import_module
from typing import Any

from torch.utils.data import Dataset

from ironlaw.tracing.libraries import replaced
from ironlaw.tracing.real_tensors import as_plain
from ironlaw.tracing.scripts.absent_data import SIDE, Absent

SETS: dict[str, tuple[str, int, int, int]] = {  # mode, side in pixels, classes, pictures of the training set
    "MNIST": ("L", 28, 10, 60_000), "FashionMNIST": ("L", 28, 10, 60_000), "KMNIST": ("L", 28, 10, 60_000),
    "CIFAR10": ("RGB", 32, 10, 50_000), "CIFAR100": ("RGB", 32, 100, 50_000), "SVHN": ("RGB", 32, 10, 73_257),
    "STL10": ("RGB", 96, 10, 5_000), "ImageNet": ("RGB", SIDE, 1000, 1_281_167), "ImageFolder": ("RGB", SIDE, 1000, 1_281_167),
    "Food101": ("RGB", SIDE, 101, 75_750), "OxfordIIITPet": ("RGB", SIDE, 37, 3_680), "Flowers102": ("RGB", SIDE, 102, 1_020),
}  # fmt: skip


class Pictures(Dataset[Any]):
    def __init__(self, name: str, transform: Any, target_transform: Any) -> None:
        self.mode, self.side, classes, self.count = SETS[name]
        self.transform, self.target_transform = transform, target_transform
        self.classes = [f"class {i}" for i in range(classes)]
        self.labels = classes if name != "ImageFolder" else 2  # nobody knows how many there are, and a metric may refuse one too many
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image: Any = import_module("PIL.Image")

        picture: Any = image.new(self.mode, (self.side, self.side))
        label: Any = index % self.labels
        picture = self.transform(picture) if self.transform is not None else picture
        return picture, self.target_transform(label) if self.target_transform is not None else label


def read(absent: Absent, name: str, real: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        with as_plain():
            return real(*args, **{**kwargs, **({"download": False} if "download" in kwargs else {})})
    except Exception:
        mode, side, _, _ = SETS[name]
        absent.note(f"the files of {name} are not here; {'grey' if mode == 'L' else 'colour'} pictures of {side}x{side} stand for it")
        given = called(real, args, kwargs)
        return Pictures(name, given.get("transform"), given.get("target_transform"))


def called(real: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments by their names."""
    with suppress(TypeError, ValueError):
        return inspect.signature(real).bind_partial(*args, **kwargs).arguments
    return kwargs


@contextmanager
def pictures(absent: Absent) -> Iterator[None]:
    library = sys.modules.get("torchvision.datasets")
    with ExitStack() as stack:
        for name in SETS if library is not None else ():
            stack.enter_context(replaced(library, name, partial(read, absent, name, getattr(library, name, None))))
        yield
