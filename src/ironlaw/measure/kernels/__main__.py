"""python -m ironlaw.measure.kernels"""

import sys

from ironlaw.errors import IronlawError
from ironlaw.measure.kernels.kernel_comparison import main

try:
    sys.exit(main())
except IronlawError as error:
    sys.exit(f"ironlaw: {error}")
