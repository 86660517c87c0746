"""Act I: half the joules, and what demand makes of them."""

from ironlaw.labs.lab_v2_15_jevons.act1.instrument import CLAIMS, FOLLOWS, MORE, dials, view
from ironlaw.labs.lab_v2_15_jevons.act1.local_runs import captions, local_figures
from ironlaw.labs.lab_v2_15_jevons.act1.slots import distance, lock, message, peek, reflection, reveal, truth
