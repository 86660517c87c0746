"""Act I: the bandwidth of two devices."""

from ironlaw.labs._template.act1.instrument import CLAIMS, dials, view
from ironlaw.labs._template.act1.slots import distance, peek, reveal, truth
