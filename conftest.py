"""What all tests share: real servers (tests/servers), for the tests that ask for them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "tests" / "servers"))

pytest_plugins = ["server_fixtures"]
