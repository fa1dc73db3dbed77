from __future__ import annotations

import pytest

from entresol.features.debugger.sources.compiled import (
    LIBRARY_START,
    CompiledCode,
    Gap,
    metadata_size,
)

BODY = bytes.fromhex("6001600260036004")
# {"solc": 0.8.26} and its length.
METADATA = bytes.fromhex("a164736f6c634300081a000a")
# A hash, sizes and the version, with a length that counts itself.
VYPER_METADATA = bytes.fromhex(
    "85582041ce206319157b56cf0a1a843b1c9c1f11639a1c173c8b962290c1950f77b283190164801820a1657679706572830004030036"
)


@pytest.mark.parametrize(
    ("tail", "size"),
    [
        (METADATA, len(METADATA)),
        (VYPER_METADATA, len(VYPER_METADATA)),
        (b"", 0),
        (b"\x00", 0),
        (b"\xff\xff", 0),
        (bytes.fromhex("60016002000a"), 0),
    ],
)
def test_metadata_is_recognised_by_its_length(tail: bytes, size: int) -> None:
    assert metadata_size(BODY + tail) == size


def test_a_code_is_found_whatever_its_metadata_are() -> None:
    compiled = CompiledCode(BODY + METADATA, "")
    assert compiled.is_deployed_as(BODY + METADATA)
    assert compiled.is_deployed_as(BODY + METADATA.replace(b"\x1a", b"\x1b"))
    assert compiled.is_deployed_as(BODY + bytes.fromhex("a1617600") + b"\x00\x04")
    assert compiled.is_deployed_as(BODY)
    assert not compiled.is_deployed_as(BODY[:-1])
    assert not compiled.is_deployed_as(BODY + b"\x00" + METADATA)
    assert not compiled.is_deployed_as(b"\x61" + BODY[1:] + METADATA)


def test_immutables_and_addresses_of_libraries_may_be_anything() -> None:
    compiled = CompiledCode(BODY + METADATA, "", [Gap(1, 2), Gap(5, 1)])
    changed = bytearray(BODY)
    changed[1:3], changed[5] = b"\xaa\xbb", 0xCC
    assert compiled.is_deployed_as(bytes(changed) + METADATA)
    changed[3] = 0
    assert not compiled.is_deployed_as(bytes(changed) + METADATA)


def test_a_library_has_its_own_address() -> None:
    compiled = CompiledCode(LIBRARY_START + BODY, "")
    assert compiled.is_deployed_as(b"\x73" + bytes(range(20)) + b"\x30\x14" + BODY)


def test_arguments_follow_a_code_that_creates() -> None:
    compiled = CompiledCode(BODY + METADATA, "")
    assert compiled.starts(BODY + METADATA + bytes(64))
    assert not compiled.starts(BODY)
