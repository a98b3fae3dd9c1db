"""Where tests find the checkout and the real test data, however deep they stand themselves."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("RAGKIT_TEST_DATA", ROOT.parent / "shared" / "data"))
