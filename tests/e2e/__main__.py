"""`python3 -m tests.e2e test_run_basics …` from the repository root; exit 77 when a test was skipped."""

import sys

from tests.lab.case import main

sys.exit(main([f"tests.e2e.{name}" for name in sys.argv[1:]]))
