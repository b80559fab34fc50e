"""A pytest plugin that puts another build of the kernel in the place of the installed one.

TYREX_KERNEL=build/sanitized/_kernel.so pytest -p tests.kernel.sanitized ...
"""

from __future__ import annotations

import importlib.util
import os
import sys

_path = os.environ["TYREX_KERNEL"]
_spec = importlib.util.spec_from_file_location("tyrex._kernel", _path)
assert _spec is not None
assert _spec.loader is not None
_kernel = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_kernel)
sys.modules["tyrex._kernel"] = _kernel
