"""Act I: one matrix product under the roof."""

from ironlaw.labs.lab_11_roofline.act1.instrument import CLAIMS, FOLLOWS, MORE, dials, view
from ironlaw.labs.lab_11_roofline.act1.local_runs import captions, local_figures
from ironlaw.labs.lab_11_roofline.act1.slots import STATES, distance, lock, message, peek, reflection, reveal, truth
from ironlaw.labs.lab_11_roofline.act1.tile import motion
