"""Act I: how far the learner's own hunches can be trusted."""

from ironlaw.labs.lab_v2_17_synthesis.act1.instrument import CLAIMS, FOLLOWS, dials, view
from ironlaw.labs.lab_v2_17_synthesis.act1.slots import distance, lock, message, peek, reflection, reveal, truth
