"""Twelve more models for timing training steps, of other architectures than those of `training_models.py`.

Sealed on 2026-11-19: written and committed before any of them was captured or predicted, so that the first judging of their gains says
what to expect of a model that nobody has looked at. Nothing is to be fitted to them.

    training_steps.py --set 2 --out DIR --seconds 225

`benchmarks/training_steps_2.json` says when they were sealed, what is timed of them and how a gain is judged.
"""

from training_models_2_pictures import MODELS as PICTURES
from training_models_2_sequences import MODELS as SEQUENCES

MODELS = PICTURES | SEQUENCES
