"""`python -m cuvil_pack.cli`: the command line without its script."""

import sys

from cuvil_pack.cli import main

sys.exit(main())
