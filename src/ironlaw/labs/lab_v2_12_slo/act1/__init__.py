"""Act I: services in a row and calls at once, and what a user sees of them."""

from ironlaw.labs.lab_v2_12_slo.act1.instrument import CLAIMS, FOLLOWS, MORE, dials, view
from ironlaw.labs.lab_v2_12_slo.act1.local_runs import captions, local_figures
from ironlaw.labs.lab_v2_12_slo.act1.slots import distance, lock, message, peek, reflection, reveal, truth
from ironlaw.labs.lab_v2_12_slo.services import offers
