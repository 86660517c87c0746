"""From the config.json of a model of transformers to its blocks, without PyTorch: what each model_type is made of."""
