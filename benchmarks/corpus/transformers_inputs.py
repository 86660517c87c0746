"""What goes into a model of transformers, from its forward's signature and its configuration.

Given: the main input, every parameter without a default, the attention mask of ids, a decoder's ids, and the other tower's input of
models that compare text with images. Everything else is left to the model, caches off.

A signature does not tell all: which axis of a sound's features is time, say. A model that refuses the usual call is called in the other
`ways` of its kind, one after the other.
"""

import inspect

from corpus.entry import AUDIO, IMAGE, VIDEO

FRAMES = 16
MEL_FRAMES = 1000
PATCHES = 16  # of a side, where a model takes images in patches
SAMPLES = 80_000  # of a sound: five seconds
BOX = 1000  # layout models give places on a page in thousandths
DECODED = 128  # tokens in a decoder beside an encoder
SKIPPED = ("kwargs", "args", "self")
SIDES = (1024, 640, 512, 560, 384)  # of images, where a model does not say
OTHERS = (
    "input_ids", "pixel_values", "pixel_values_videos", "input_features", "input_values", "input_features_mask", "lang_ids",
    "image_attention_mask",
)  # of other towers  # fmt: skip
PAIRS = 2  # images beside one text


def ways(entry):
    """Settings of `inputs` to try where a model refuses the usual call."""
    if entry.kind == AUDIO:
        turns = [{"turned": True}, {"widest": True}, {"axis": True}, {"bins": 128}, {"turned": True, "bins": 128}]
        return [{"others": True}, *turns, {"turned": True, "others": True}, {"axis": True, "others": True, "inner": True}]
    if entry.kind in (IMAGE, VIDEO):
        sides = [{"side": side} for side in SIDES]
        return [{"inner": True}, {"others": True}, {"pairs": True}, *sides, {"inner": True, "others": True}, {"side": 1024, "others": True}]
    more = ({"axis": True}, {"inner": True}, {"pairs": True}, {"side": 448}, {"tokens": 32})
    return [{"others": True}, *({"others": True} | other for other in more)]


def text_of(config):
    """The part of a configuration that is about text; of several, the decoder's."""
    try:
        return config.get_text_config()
    except ValueError:
        return config.get_text_config(decoder=True)


def needed(cls):
    """The parameters that a model's forward can't do without, its main input first."""
    given = inspect.signature(cls.forward).parameters
    wanted = [cls.main_input_name] if cls.main_input_name in given else []
    more = [n for n, p in given.items() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD and n not in SKIPPED]
    return list(dict.fromkeys(wanted + more))


def known(cls):
    """Whether there is a rule for everything that a model asks for."""
    return all(hasattr(Values, name) for name in needed(cls))


def inputs(model, entry, batch, **way):
    """(arguments, keywords); all by keyword. `way`: one of `ways`."""
    given = inspect.signature(model.forward).parameters
    wanted = needed(type(model))
    if "input_ids" in wanted and "attention_mask" in given:
        wanted.append("attention_mask")
    if "decoder_input_ids" in given and model.config.is_encoder_decoder:
        wanted.append("decoder_input_ids")
    if hasattr(model, "logit_scale") and "pixel_values" in given:
        wanted.append("pixel_values")
    if hasattr(model, "logit_scale_a") and "input_features" in given:
        wanted.append("input_features")  # text and sound
    if type(model).__name__.startswith(("LayoutLM", "Lilt", "Bros", "Udop")) and "bbox" in given:
        wanted.append("bbox")
    if "spatial_shapes" in given:
        wanted += [n for n in ("pixel_attention_mask", "spatial_shapes") if n in given]
    if way.get("others"):
        wanted += [n for n in OTHERS if n in given]
        if "input_ids" in wanted and "attention_mask" in given:
            wanted.append("attention_mask")
    makers = Values(model, entry, batch, way)
    kwargs = {name: getattr(makers, name)() for name in dict.fromkeys(wanted) if name not in SKIPPED}
    if "use_cache" in given and getattr(text_of(model.config), "use_cache", None) is not None:
        kwargs["use_cache"] = False
    return (), kwargs


class Values:
    """A random value for each parameter that a forward may ask for, named like the parameter."""

    def __init__(self, model, entry, batch, way):
        self.model, self.entry, self.batch, self.way = model, entry, batch, way
        self.config, self.text = model.config, text_of(model.config)
        self.vision = getattr(self.config, "vision_config", None) or self.config
        self.tokens = way.get("tokens") or (entry.size if "ids" in entry.kind else 128)

    def __getattr__(self, name):
        raise NotImplementedError(
            f"{type(self.model).__name__} asks for {name}, and there is no rule for it in corpus/transformers_inputs.py"
        )

    # ---- text

    def input_ids(self):
        import torch

        words = getattr(self.text, "vocab_size", None) or getattr(self.config, "vocab_size", 256)
        return torch.randint(words // 2, (self.batch, self.tokens))  # the upper half holds image and audio tokens, where there are any

    def attention_mask(self):
        import torch

        return torch.ones(self.batch, self.tokens, dtype=torch.long)

    def decoder_input_ids(self):
        import torch

        decoder = getattr(self.config, "decoder", None) or self.text
        words = getattr(decoder, "vocab_size", None) or self.text.vocab_size
        return torch.randint(words, (self.batch, min(self.tokens, DECODED)))

    def bbox(self):
        import torch

        corners = torch.randint(BOX // 2, (self.batch, self.tokens, 2))
        return torch.cat([corners, corners + torch.randint(BOX // 2, (self.batch, self.tokens, 2))], -1)

    def lang_ids(self):
        import torch

        return torch.zeros(self.batch, dtype=torch.long)

    # ---- images

    def side(self):
        if "side" in self.way:
            return self.way["side"]
        inner = self.way.get("inner") and next((m.img_size for m in self.model.modules() if hasattr(m, "img_size")), None)
        if inner:
            return inner if isinstance(inner, int) else max(inner)
        size = self.entry.size if self.entry.kind in ("image", VIDEO) else getattr(self.vision, "image_size", None) or 224
        return size if isinstance(size, (int, float)) else max(size)

    def channels(self):
        return next(
            (getattr(c, n) for c in (self.config, self.vision) for n in ("num_channels", "in_channels", "in_chans") if getattr(c, n, 0)), 3
        )

    def pixel_values(self):
        import torch

        if "spatial_shapes" in inspect.signature(self.model.forward).parameters:
            return torch.randn(self.batch, PATCHES**2, self.channels() * self.vision.patch_size**2)  # cut into patches already
        size = getattr(self.config, "image_size", None) if not self.way else None
        tall, wide = size if isinstance(size, (tuple, list)) else (self.side(), self.side())
        frames = PAIRS if self.way.get("pairs") else getattr(self.config, "num_frames", None)
        shape = (self.batch, frames, self.channels(), tall, wide) if frames else (self.batch, self.channels(), tall, wide)
        return torch.randn(shape)

    def spatial_shapes(self):
        import torch

        return torch.full((self.batch, 2), PATCHES)

    def pixel_attention_mask(self):
        import torch

        return torch.ones(self.batch, PATCHES**2, dtype=torch.long)

    def image_attention_mask(self):
        import torch

        return torch.ones(self.batch, self.tokens, PAIRS, dtype=torch.long)

    def pixel_mask(self):
        import torch

        return torch.ones(self.batch, self.side(), self.side(), dtype=torch.long)

    def pixel_values_videos(self):
        import torch

        frames = getattr(self.config, "frames_per_clip", None) or getattr(self.config, "num_frames", None) or FRAMES
        return torch.randn(self.batch, frames, self.channels(), self.side(), self.side())

    # ---- sound

    def input_values(self):
        import torch

        if getattr(self.config, "num_mel_bins", None) and getattr(self.config, "max_length", None):
            return torch.randn(self.batch, self.config.max_length, self.config.num_mel_bins)
        waves = torch.randn(self.batch, self.entry.size or SAMPLES)
        return (
            waves[:, None]
            if self.way.get("axis")
            or getattr(self.config, "audio_channels", None)
            or "codec" in self.config.model_type
            or "dac" in self.config.model_type
            else waves
        )

    def input_features(self):
        import torch

        config = getattr(self.config, "encoder_config", None) or getattr(self.config, "audio_config", None) or self.config
        bins = self.way.get("bins") or next((getattr(config, n) for n in BINS if getattr(config, n, 0)), 80)
        if self.way.get("widest"):
            bins = next((m.in_features for m in self.model.modules() if isinstance(m, torch.nn.Linear)), bins)
        if self.way.get("axis"):
            return torch.randn(self.batch, 1, MEL_FRAMES + 1, bins)
        first = next((m for m in self.model.modules() if isinstance(m, torch.nn.Conv1d)), None)
        known = first is not None and first.in_channels == bins and getattr(config, "max_source_positions", None)
        if bool(known) != bool(self.way.get("turned")):
            return torch.randn(self.batch, bins, 2 * (getattr(config, "max_source_positions", None) or MEL_FRAMES))
        return torch.randn(self.batch, MEL_FRAMES, bins)

    def input_features_mask(self):
        import torch

        return torch.ones(self.batch, max(self.input_features().shape[1:]), dtype=torch.long)

    # ---- time series

    def past_values(self):
        import torch

        config = self.config
        length = getattr(config, "context_length", None) or 512
        lags = max(getattr(config, "lags_sequence", None) or [0])
        channels = getattr(config, "num_input_channels", None)
        return torch.randn(self.batch, length + lags, channels) if channels else torch.randn(self.batch, length + lags)

    def past_time_features(self):
        import torch

        return torch.randn(*self.past_values().shape[:2], max(self.config.num_time_features, 1))

    def past_observed_mask(self):
        import torch

        return torch.ones(self.past_values().shape, dtype=torch.bool)


BINS = ("num_mel_bins", "feature_size", "input_feat_per_channel", "feature_projection_input_dim", "input_dim", "mel_bins", "n_mels")
