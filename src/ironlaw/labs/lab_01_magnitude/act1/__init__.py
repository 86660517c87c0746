"""Act I: how far apart two devices are."""

from ironlaw.labs.lab_01_magnitude.act1.instrument import CLAIMS, dials, view
from ironlaw.labs.lab_01_magnitude.act1.slots import STATES, captions, distance, message, peek, reflection, reveal, truth
