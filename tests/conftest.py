"""Settings that all tests share."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

pytest_plugins = ["pytester"]

settings.register_profile(
    "quick", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile(
    "nightly", deadline=None, max_examples=5000, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile(
    "few", settings.get_profile("quick"), max_examples=int(os.environ.get("TYREX_EXAMPLES", "100"))
)
settings.load_profile(
    "few" if "TYREX_EXAMPLES" in os.environ else "nightly" if os.environ.get("TYREX_NIGHTLY") else "quick"
)
