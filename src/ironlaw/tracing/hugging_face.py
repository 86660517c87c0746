"""`hf:LlamaConfig`, `hf:BertForMaskedLM`, `hf:folder/with/config.json`: a model of transformers, built from its configuration alone."""

from __future__ import annotations

import inspect
import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from ironlaw.errors import BadValue, IronlawError, MissingExtra, unknown
from ironlaw.registry.config_files import in_cache, is_hub_id
from ironlaw.registry.decoder_types.traits import ALIASES
from ironlaw.tracing.target import Target, described, empty

TOKENS, IMAGE, HEAD = 128, 224, "head"
# which head is meant where a configuration has several, the first that exists
AUTO = (
    "AutoModelForCausalLM", "AutoModelForSeq2SeqLM", "AutoModelForSpeechSeq2Seq", "AutoModelForImageTextToText", "AutoModel",
    "AutoModelForMaskedLM", "AutoModelForImageClassification", "AutoModelForAudioClassification", "AutoModelForObjectDetection",
)  # fmt: skip
# families that have a causal head which nobody means
ENCODERS = ("Bert", "Roberta", "Electra", "Camembert", "XLMRoberta", "MegatronBert", "RoFormer", "DataVec2Text", "Data2VecText", "Ernie")


def hugging_face(name: str, settings: dict[str, Any], seq: int | None, device: str = "meta") -> Target:
    import torch

    from ironlaw.tracing.initialisation import mark, remembered

    try:
        import transformers
    except ImportError:
        raise MissingExtra("hf: needs transformers; install it with: pip install transformers") from None
    transformers.logging.set_verbosity_error()
    settings = dict(settings)
    head = settings.pop(HEAD, None)
    config, cls = configured(transformers, name, settings)
    try:
        with torch.device(device), remembered() if device == "meta" else nullcontext() as seen:
            if head is not None:
                cls = head_named(transformers, config, str(head))
            model = cls(config) if cls is not None else model_of(transformers, config)
        mark(model, seen)
    except IronlawError:
        raise
    except Exception as error:
        raise BadValue(f"hf:{name} can't be built: {described(error)}; check --set, or name a model class") from error
    target = Target(name, model, *arguments(model, config, seq))
    others = heads(transformers, config)
    if cls is None and len(others) > 1:
        rest = ", ".join(other for other in others if other != type(model).__name__)
        target.notes.append(f"built as {type(model).__name__}; another head with --set head=NAME: {rest}")
    return target


def configured(transformers: Any, name: str, settings: dict[str, Any]) -> tuple[Any, Any]:
    """The configuration, and the model class where one was named."""
    cached = in_cache(name) if is_hub_id(name) else None
    place = cached or Path(name)
    if cached or place.is_dir() or name.endswith(".json"):
        return from_folder(transformers, place, settings), None
    try:
        cls: Any = getattr(transformers, name, None) if name.isidentifier() else None
    except Exception as error:  # a class whose own libraries are missing
        raise BadValue(f"hf:{name} can't be imported: {described(error)}; install what it needs, or name another class") from error
    if not isinstance(cls, type):
        if name.startswith((".", "/", "~")):
            raise BadValue(f"there is no folder {name}; give one with the config.json of a transformers model")
        if "/" in name or not name.isidentifier() or (name.islower() and "config" not in name):
            raise BadValue(
                f"hf:{name} is the name of a model on the Hugging Face hub, and nothing is fetched from the network here; save its"
                f" config.json (https://huggingface.co/{name}/blob/main/config.json) in a folder and give it, as in hf:./{place.name}"
            )
        known = [n for n in sorted(transformers.__all__) if n.endswith("Config")]
        raise unknown("class of transformers", name, known)
    is_config = issubclass(cls, transformers.PretrainedConfig)
    configuration: Any = cls if is_config else getattr(cls, "config_class", None)
    if configuration is None:
        raise BadValue(f"hf:{name} is neither a model nor a configuration; name one, such as hf:LlamaConfig")
    try:
        return configuration(**settings), None if is_config else cls
    except Exception as error:
        raise BadValue(f"hf:{name} can't be built: {described(error)}; check --set, or name a model class") from error


def from_folder(transformers: Any, place: Path, settings: dict[str, Any]) -> Any:
    file = place / "config.json" if place.is_dir() else place
    try:
        data = json.loads(file.read_text())
        kind = data["model_type"]
    except FileNotFoundError:
        raise BadValue(f"there is no {file}; give a folder with the config.json of a transformers model") from None
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise BadValue(f"{file} is not the configuration of a model ({described(error)}); it should be JSON with a model_type") from None
    if kind not in transformers.CONFIG_MAPPING:
        twin = ALIASES.get(str(kind), str(kind))  # a type of its own name whose architecture is another's, as Kimi K2's is
        if twin not in transformers.CONFIG_MAPPING:
            raise BadValue(
                f"{file} is of model_type {kind!r}, which transformers {transformers.__version__} does not know; update transformers, or"
                " give your own code that builds the model"
            )
        kind = twin
    if data.get("quantization_config") and not {"dtype", "torch_dtype"} & data.keys():
        data["dtype"] = "bfloat16"  # what is not quantised is loaded so
    try:
        data.pop("model_type")
        return transformers.AutoConfig.for_model(kind, **{**data, **settings})
    except Exception as error:
        raise BadValue(f"{file} can't be read: {described(error)}; this transformers is {transformers.__version__}") from error


def heads(transformers: Any, config: Any) -> list[str]:
    """The model classes that take this configuration. `dir(transformers)` takes a fifth of a second, each time."""
    names: dict[str, None] = {}
    for auto in (getattr(transformers, name) for name in sorted(transformers.__all__) if name.startswith("AutoModel")):
        mapping = getattr(auto, "_model_mapping", None)
        if mapping is None or type(config) not in mapping:
            continue
        classes = mapping[type(config)]
        names.update(dict.fromkeys(c.__name__ for c in (classes if isinstance(classes, tuple) else (classes,))))
    return list(names)


def head_named(transformers: Any, config: Any, head: str) -> Any:
    known = heads(transformers, config)
    if head not in known:
        raise unknown(f"head of {type(config).__name__}", head, known)
    return getattr(transformers, head)


def model_of(transformers: Any, config: Any) -> Any:
    """The language model of a configuration where there is one, else its bare model, else whichever head it has."""
    kind = type(config).__name__
    for name in AUTO:
        auto = getattr(transformers, name, None)
        if auto is None or type(config) not in auto._model_mapping:
            continue
        if name == "AutoModelForCausalLM" and (kind.startswith(ENCODERS) or getattr(config, "is_encoder_decoder", False)):
            continue
        return auto.from_config(config)
    known = heads(transformers, config)
    if known:
        return getattr(transformers, known[0])(config)
    raise ValueError(f"transformers registers no model for {kind}; name a model class instead, such as hf:BertForMaskedLM")


def arguments(model: Any, config: Any, seq: int | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Inputs of the model's main kind: token ids, an image, or features of a sound; the decoder's ids where there are two halves."""
    import torch

    names = inspect.signature(model.forward).parameters
    keywords: dict[str, Any] = {"use_cache": False} if "use_cache" in names else {}
    main = getattr(model, "main_input_name", "input_ids")
    ids = empty((1, seq or TOKENS), torch.long)
    image = empty((1, getattr(config, "num_channels", 3), *image_size(config)), model.dtype)
    if hasattr(config, "projection_dim") and {"input_ids", "pixel_values"} <= set(names):  # pairs of text and image
        longest = getattr(getattr(config, "text_config", config), "max_position_embeddings", TOKENS)
        return (), keywords | {"input_ids": empty((1, min(seq or TOKENS, longest)), torch.long), "pixel_values": image}
    if main == "pixel_values":
        return (image,), keywords
    if main == "input_features":
        length = 2 * getattr(config, "max_source_positions", 1500)
        features = empty((1, getattr(config, "num_mel_bins", 80), length), model.dtype)
        return (features,), keywords | ({"decoder_input_ids": ids} if "decoder_input_ids" in names else {})
    if main == "input_values":
        return (empty((1, 16000), model.dtype),), keywords
    if getattr(config, "is_encoder_decoder", False) and "decoder_input_ids" in names:
        keywords["decoder_input_ids"] = empty((1, seq or TOKENS), torch.long)
    return (ids,), keywords


def image_size(config: Any) -> tuple[int, int]:
    size = getattr(config, "image_size", None) or getattr(getattr(config, "vision_config", None), "image_size", None) or IMAGE
    return (size, size) if isinstance(size, int) else (int(size[0]), int(size[-1]))
