"""Act I: what the next bit costs, and where the cliff is."""

from ironlaw.labs.lab_10_frontier.act1.instrument import CLAIMS, dials, view
from ironlaw.labs.lab_10_frontier.act1.local_runs import captions, local_figures
from ironlaw.labs.lab_10_frontier.act1.slots import distance, lock, peek, reflection, reveal, truth
