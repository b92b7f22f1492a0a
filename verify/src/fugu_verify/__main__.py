"""`python -m fugu_verify CERT`: the command `fugu-verify`."""

import sys

from fugu_verify.command import main

sys.exit(main())
