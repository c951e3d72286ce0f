"""Load what runs the notebooks, without a grammar of addresses that takes a second and that no notebook needs."""

import sys

sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]  # jsonschema does without it

pytest_plugins = ["nbval.plugin"]
