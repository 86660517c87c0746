"""transformers: one class of every model type in the auto mappings, with its default configuration.

Of a type's classes the first in HEADS is taken: the head that the type is mostly run with, else the bare model. A default of more than
LARGEST parameters gets fewer layers: half as many, again and again, in every part that has layers, down to two. Types whose default
configuration can't be made (it wants other models' configurations, or a download) are left out, and so are those whose forward asks for
something that transformers_inputs.py has no rule for.
"""

import os
import warnings
from functools import cache

from corpus.entry import AUDIO, IDS, IMAGE, PAIR, VIDEO, Entry
from corpus.transformers_inputs import inputs, known, text_of, ways

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

HEADS = (
    "SEQ_TO_SEQ_CAUSAL_LM", "SPEECH_SEQ_2_SEQ", "MASKED_LM", "CAUSAL_LM", "IMAGE_TEXT_TO_TEXT", "OBJECT_DETECTION",
    "UNIVERSAL_SEGMENTATION", "SEMANTIC_SEGMENTATION", "DEPTH_ESTIMATION", "IMAGE_CLASSIFICATION", "VIDEO_CLASSIFICATION",
    "CTC", "AUDIO_CLASSIFICATION",
    "TEXT_TO_WAVEFORM", "TEXT_TO_SPECTROGRAM", "ZERO_SHOT_IMAGE_CLASSIFICATION", "ZERO_SHOT_OBJECT_DETECTION", "IMAGE_TO_IMAGE",
    "MASK_GENERATION", "KEYPOINT_DETECTION", "TIME_SERIES_PREDICTION",
)  # fmt: skip
__all__ = ["entries", "inputs", "make", "ways"]
LARGEST = 8e9  # parameters
LAYERS = (
    "num_hidden_layers", "num_layers", "n_layer", "n_layers", "encoder_layers", "decoder_layers", "num_decoder_layers", "depth",
    "encoder_num_hidden_layers", "num_encoder_layers",
)  # fmt: skip
TOKENS = 512
KINDS = {"input_ids": IDS, "pixel_values": IMAGE, "pixel_values_videos": VIDEO, "input_features": AUDIO, "input_values": AUDIO}


@cache
def classes():
    """Model type -> the class that is taken; each class once."""
    from transformers.models.auto import modeling_auto

    found = {}
    tables = [getattr(modeling_auto, f"MODEL_FOR_{head}_MAPPING_NAMES", {}) for head in HEADS]
    for model_type in modeling_auto.MODEL_MAPPING_NAMES:
        for table in (*tables, modeling_auto.MODEL_MAPPING_NAMES):
            name = table.get(model_type)
            if name:
                found[model_type] = name if isinstance(name, str) else name[0]
                break
    once = {}
    for model_type, name in found.items():
        once.setdefault(name, model_type)
    return {model_type: name for name, model_type in once.items()}


@cache
def default(cls):
    """The default of the class's own configuration; None where it can't be made."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return cls.config_class()
        except Exception:  # whatever a configuration's own checks raise
            return None


def entries():
    import transformers

    found = []
    for model_type, name in sorted(classes().items()):
        try:
            cls = getattr(transformers, name)
            main, config = cls.main_input_name, default(cls)
        except (ImportError, AttributeError, TypeError):
            continue
        if config is None or not isinstance(main, str) or not known(cls):
            continue
        kind = kind_of(main, config, name)
        found.append(Entry("transformers", f"{model_type}:{name}", kind, size_of(kind, config)))
    return found


def kind_of(main, config, name):
    kind = KINDS.get(main, "series" if "past" in main else main)
    if kind == IDS and config.is_encoder_decoder:
        return PAIR
    return kind


def size_of(kind, config):
    """Tokens, no more than the model has places for; pixels as configured; one number per 16 kHz sample for audio: five seconds."""
    if kind in (IDS, PAIR):
        text = text_of(config)
        places = next(
            (getattr(text, n) for n in ("max_position_embeddings", "n_positions", "max_target_positions") if getattr(text, n, 0)), TOKENS
        )
        return min(TOKENS, places - 2) if isinstance(places, int) else TOKENS
    if kind in (IMAGE, VIDEO):
        return side(config)
    return 80_000 if kind == AUDIO else 0


def side(config):
    for part in (config, getattr(config, "vision_config", None), getattr(config, "backbone_config", None)):
        size = getattr(part, "image_size", None)
        if size:
            return size if isinstance(size, int) else max(size)
    return 640 if "detr" in config.model_type else 224


def smaller(config_class, config, times):
    """The default with a `times`-th of its layers in every part, at least two."""
    changes = fewer(config, times)
    for name in config.sub_configs:
        part = getattr(config, name, None)
        if part is not None and (less := fewer(part, times)):
            changes[name] = {"model_type": part.model_type} | less
    return config_class(**changes) if changes else config


def fewer(config, times):
    return {name: max(2, getattr(config, name) // times) for name in LAYERS if isinstance(getattr(config, name, None), int)}


def parameters(cls, config):
    import torch

    with torch.device("meta"):
        return sum(p.numel() for p in cls(config).parameters())


@cache
def fitting(entry_name, largest):
    """(class, configuration) with at most so many parameters, or with the fewest layers."""
    import transformers

    cls = getattr(transformers, entry_name.split(":")[1])
    config = default(cls)
    try:
        parameters(cls, config)
    except AttributeError:  # a text model whose configuration class is the one of text and images
        config = config.get_text_config()
    times, known = 1, None
    while (count := parameters(cls, config)) > largest and count != known:
        times, known = 2 * times, count
        config = smaller(type(config), type(config)(), times)
    return cls, config


def make(entry, largest=LARGEST):
    cls, config = fitting(entry.name, largest)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cls(config)
