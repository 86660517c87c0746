"""What goes into a model of diffusers, from its forward's signature and its configuration.

Given: every parameter without a default, and those without which no pipeline calls the model: the timestep, the text's states and their
mask. Latents are images of `size`², or short films of them; transformers that take a list of patches get as many as such an image has.
"""

import inspect

FRAMES = 5  # of a film: what four frames and a first one leave in a latent
PICTURES = 17  # frames that an autoencoder of films is given
WORDS = 128
SAMPLES = 65536  # of a sound
GIVEN = (
    "timestep", "encoder_hidden_states", "pooled_projections", "img_ids", "txt_ids", "guidance", "encoder_attention_mask", "class_labels",
    "image_rotary_emb", "pooled_projection_timestep", "img_shapes", "added_cond_kwargs", "num_frames", "height", "width", "padding_mask",
    "shape_list",
)  # fmt: skip
PACKED = ("Flux", "QwenImage", "Bria", "Chroma", "LongCat", "Ovis", "Glm", "Nucleus")  # take a list of patches
FILMS = ("AutoencoderKLQwenImage", "UNetMotion")  # of films, though their first convolution is one of images


def needed(forward):
    """The parameters that a forward can't do without."""
    given = inspect.signature(forward).parameters
    return [n for n, p in given.items() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD and n != "self"]


def known(forward):
    """Whether there is a rule for everything that a forward asks for."""
    return all(hasattr(Values, name) for name in needed(forward))


def inputs(model, entry, batch):
    """(arguments, keywords); all by keyword."""
    given = inspect.signature(model.forward).parameters
    makers = Values(model, entry, batch)
    wanted = dict.fromkeys([*needed(model.forward), *(n for n in GIVEN if n in given)])
    made = {n: getattr(makers, n)() for n in wanted}
    return (), {n: v for n, v in made.items() if v is not None}


class Values:
    """A random value for each parameter that a forward may ask for, named like the parameter; None: left to the model."""

    def __init__(self, model, entry, batch):
        self.model, self.name, self.size, self.batch, self.config = model, entry.name, entry.size, batch, model.config

    def __getattr__(self, name):
        raise NotImplementedError(f"{self.name} asks for {name}, and there is no rule for it in corpus/diffusers_inputs.py")

    def setting(self, *names, default=None):
        return next((self.config[n] for n in names if self.config.get(n)), default)

    def rank(self):
        """Of the images, films or sounds that go in: by the model's first convolution, else by its name."""
        import torch

        ranks = {torch.nn.Conv1d: 1, torch.nn.Conv2d: 2, torch.nn.Conv3d: 3}
        first = next((ranks[kind] for m in self.model.modules() for kind in ranks if isinstance(m, kind)), None)
        return first or (3 if "3D" in self.name else 2)

    def is_film(self):
        return self.rank() == 3 or "3D" in self.name or self.name.startswith(FILMS)

    def sample(self):
        import torch

        channels = self.setting("in_channels", default=3)
        side = self.setting("sample_size") if self.name.startswith("UNet") else None
        side = side if isinstance(side, int) else self.size
        if self.name != "UNet1DModel" and self.rank() == 1:
            return torch.randn(self.batch, self.setting("audio_channels", "in_channels", default=1), SAMPLES)
        if self.name == "UNet1DModel":
            return torch.randn(self.batch, channels, self.setting("sample_size", default=65536))
        if "Spatio" in self.name:
            return torch.randn(self.batch, self.setting("num_frames", default=FRAMES), channels, side, side)
        if self.name.startswith("Autoencoder") and self.is_film():
            return torch.randn(self.batch, channels, 1 if self.name.endswith("QwenImage21") else PICTURES, side, side)
        frames = (FRAMES,) if self.is_film() else ()
        return torch.randn(self.batch, channels, *frames, side, side)

    x = sample

    def hidden_states(self):
        import torch

        channels = self.setting("in_channels", "in_dim", default=4)
        if self.name.startswith(PACKED):
            return torch.randn(self.batch, (self.size // 2) ** 2, channels)
        if self.name.startswith("LTX"):
            return torch.randn(self.batch, FRAMES * self.size**2, channels)
        if self.name.startswith("JoyImageEditPlus"):
            deep, *sides = self.setting("patch_size", default=(1, 2, 2))
            return torch.randn(self.batch, self.size**2 // (sides[0] * sides[1]), channels, deep, *sides)
        if self.name.startswith("CogVideoX") or self.name.startswith("ConsisID"):
            frames = (self.setting("sample_frames", default=17) - 1) // self.setting("temporal_compression_ratio", default=4) + 1
            tall, wide = (self.setting(f"sample_{side}", default=self.size) for side in ("height", "width"))
            return torch.randn(self.batch, frames, channels, tall, wide)
        frames = (FRAMES,) if self.is_film() else ()
        return torch.randn(self.batch, channels, *frames, self.size, self.size)

    def timestep(self):
        import torch

        whole = inspect.signature(self.model.forward).parameters["timestep"].annotation
        return (
            torch.randint(1, 1000, (self.batch,))
            if "Long" in str(whole) or self.name.startswith(("UNet", "DiT"))
            else torch.rand(self.batch)
        )

    def encoder_hidden_states(self):
        import torch

        width = self.setting(
            "caption_channels",
            "cross_attention_dim",
            "joint_attention_dim",
            "text_embed_dim",
            "text_dim",
            "caption_projection_dim",
            "cap_feat_dim",
            "encoder_hidden_dim",
        )
        if width is None and self.name.startswith("UNet2DModel"):
            return None
        width = width[0] if isinstance(width, (tuple, list)) else width
        return torch.randn(self.batch, self.setting("max_text_seq_length", default=WORDS), width) if width else None

    def encoder_attention_mask(self):
        import torch

        return torch.ones(self.batch, WORDS, dtype=torch.long)

    def pooled_projections(self):
        import torch

        return torch.randn(self.batch, self.setting("pooled_projection_dim", "pooled_embed_dim", default=768))

    def guidance(self):
        import torch

        return torch.rand(self.batch) if self.config.get("guidance_embeds") else None

    def img_ids(self):
        import torch

        return torch.randint(self.size // 2, ((self.size // 2) ** 2, len(self.setting("axes_dims_rope", default=(0, 0, 0)))))

    def txt_ids(self):
        import torch

        return torch.randint(2, (WORDS, len(self.setting("axes_dims_rope", default=(0, 0, 0)))))

    def img_shapes(self):
        return [[(1, self.size // 2, self.size // 2)]] * self.batch

    def shape_list(self):
        _, tall, wide = self.setting("patch_size", default=(1, 2, 2))
        return [[(1, self.size // tall, self.size // wide)]] * self.batch

    def padding_mask(self):
        import torch

        return torch.zeros(1, 1, self.size, self.size) if self.config.get("concat_padding_mask") else None

    def added_cond_kwargs(self):
        import torch

        return {"resolution": torch.rand(self.batch, 2), "aspect_ratio": torch.rand(self.batch, 1)} if "PixArt" in self.name else None

    def num_frames(self):
        return FRAMES

    def height(self):
        return self.size

    width = height

    def class_labels(self):
        import torch

        classes = self.setting("num_embeds_ada_norm", "num_class_embeds")
        return torch.randint(classes, (self.batch,)) if classes else None

    def image_rotary_emb(self):
        return None

    def pooled_projection_timestep(self):
        return None

    def added_time_ids(self):
        import torch

        return torch.rand(self.batch, 3)
