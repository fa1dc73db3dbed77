"""What Python sees of the native crate: hashing, execution and tries.

Written by hand, and held against the built module by `tests/unit/test_native_stub.py`.
"""

def keccak256(data: bytes) -> bytes:
    """Return the Keccak-256 hash of `data`."""
