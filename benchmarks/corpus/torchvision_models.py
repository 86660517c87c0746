"""torchvision: every model for classification, segmentation, detection, video and optical flow; the quantised copies are left out."""

from corpus.entry import IMAGE, IMAGES, VIDEO, Entry

FRAMES = 16
DETECTION, SEGMENTATION, FLOW, CLASSES = 640, 520, 360, 224
LARGER = {"inception_v3": 299, "vit_h_14": 224}


def entries():
    from torchvision import models
    from torchvision.models import detection, optical_flow, segmentation, video

    kinds = (
        (models, IMAGE, CLASSES), (segmentation, IMAGE, SEGMENTATION), (detection, IMAGES, DETECTION), (video, VIDEO, CLASSES),
        (optical_flow, "image+image", FLOW),
    )  # fmt: skip
    return [Entry("torchvision", name, kind, LARGER.get(name, size)) for module, kind, size in kinds for name in models.list_models(module)]


def make(entry, largest=None):
    from torchvision import models

    backbone = {"weights_backbone": None} if entry.kind == IMAGES or entry.size == SEGMENTATION else {}
    extra = {"init_weights": False} if entry.name in ("googlenet", "inception_v3") else {}
    return models.get_model(entry.name, weights=None, **backbone, **extra)


def inputs(model, entry, batch):
    import torch

    side = entry.size
    if entry.kind == IMAGES:
        return ([torch.rand(3, side, side) for _ in range(batch)],), {}
    if entry.kind == VIDEO:
        return (torch.randn(batch, 3, FRAMES, side, side),), {}
    if entry.kind == IMAGE:
        return (torch.randn(batch, 3, side, side),), {}
    return tuple(torch.randn(batch, 3, side, side) for _ in range(2)), {}
