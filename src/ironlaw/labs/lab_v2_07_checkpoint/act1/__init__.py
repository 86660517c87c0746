"""Act I: one place to save to, and how often."""

from ironlaw.labs.lab_v2_07_checkpoint.act1.instrument import CLAIMS, FOLLOWS, MORE, dials, view
from ironlaw.labs.lab_v2_07_checkpoint.act1.local_runs import captions, local_figures
from ironlaw.labs.lab_v2_07_checkpoint.act1.sawtooth_day import motion
from ironlaw.labs.lab_v2_07_checkpoint.act1.slots import distance, lock, message, peek, reflection, reveal, truth
