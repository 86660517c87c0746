"""A model of the corpus by name, and what its library's file answers."""

from dataclasses import dataclass

IMAGE, IMAGES, VIDEO, IDS, PAIR, AUDIO = "image", "images", "video", "ids", "ids+ids", "audio"


@dataclass(frozen=True, order=True)
class Entry:
    """`kind`: what goes in: image, images (a list of them, as detectors take it), image+image, video, ids, ids+ids (with a decoder's),
    ids+image, audio, audio+ids, series, latent. `size`: pixels of a side, tokens, or audio frames."""

    library: str
    name: str
    kind: str
    size: int
