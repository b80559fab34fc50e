"""The kernel's own BLAKE2b, which all derived ids come from."""

from __future__ import annotations

from hashlib import blake2b

from hypothesis import example, given
from hypothesis import strategies as st

from tyrex._kernel import digest


@given(st.binary(max_size=1000))
@example(b"")
@example(bytes(127))
@example(bytes(128))
@example(bytes(129))
@example(bytes(256))
def test_a_digest_is_that_of_the_standard_library(content: bytes) -> None:
    """Of any length, at the borders of its blocks too: ids are the same wherever they are computed."""
    assert digest(content) == blake2b(content, digest_size=16).digest()
