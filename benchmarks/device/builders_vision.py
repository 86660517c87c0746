"""Vision models of transformers, from their configurations."""

import transformers as tf
from builders import Builders, image

BUILDERS = Builders()
model = BUILDERS.model


@model("resnet18", batch=(1, 32), compiled=(32,), image=224)
def resnet18(p):
    config = tf.ResNetConfig(
        layer_type="basic",
        hidden_sizes=[64, 128, 256, 512],
        depths=[2, 2, 2, 2],
        num_labels=1000,
    )
    return tf.ResNetForImageClassification(config), (image(p["batch"]),), {}


@model("resnet101", batch=(1, 32), image=224)
def resnet101(p):
    config = tf.ResNetConfig(depths=[3, 4, 23, 3], num_labels=1000)
    return tf.ResNetForImageClassification(config), (image(p["batch"]),), {}


@model("convnext_tiny", batch=(1, 32), compiled=(32,), image=224)
def convnext_tiny(p):
    config = tf.ConvNextConfig(num_labels=1000)
    return tf.ConvNextForImageClassification(config), (image(p["batch"]),), {}


@model("swin_tiny", batch=(1, 32), image=224)
def swin_tiny(p):
    config = tf.SwinConfig(num_labels=1000)
    return tf.SwinForImageClassification(config), (image(p["batch"]),), {}


@model("vit_large", batch=(1, 16), image=224, patch=16, hidden=1024, layers=24,
       heads=16, ffn=4096)  # fmt: skip
def vit_large(p):
    config = tf.ViTConfig(
        hidden_size=1024,
        num_hidden_layers=24,
        num_attention_heads=16,
        intermediate_size=4096,
        num_labels=1000,
    )
    return tf.ViTForImageClassification(config), (image(p["batch"]),), {}
