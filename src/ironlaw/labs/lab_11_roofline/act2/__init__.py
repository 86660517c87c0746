"""Act II: a whole transformer layer under the roof, and whether it fits."""

from ironlaw.labs.lab_11_roofline.act2 import budget_panel, target_panel
from ironlaw.labs.lab_11_roofline.act2.instrument import CLAIMS, FOLLOWS, MORE, dials, view
from ironlaw.labs.lab_11_roofline.act2.notes import offers
from ironlaw.labs.lab_11_roofline.act2.slots import distance, lock, message, peek, reflection, reveal, takeaways, truth
