"""The hardfork of a remote block."""

from __future__ import annotations

import msgspec
import pytest

from entresol.fork.hardforks import NEWEST, hardfork_of
from entresol.primitives.headers import Header
from entresol.primitives.values import Hash32

MAINNET, SEPOLIA, HOLESKY, HOODI, OTHER = 1, 11_155_111, 17_000, 560_048, 424_242


def header(timestamp: int) -> Header:
    zero = Hash32.zero()
    return Header(
        parent_hash=zero, state_root=zero, number=1, gas_limit=0, timestamp=timestamp,
        base_fee_per_gas=0,
    )  # fmt: skip


def config(activated: int, *precompiles: str) -> bytes:
    current = {"activationTime": activated, "precompiles": dict.fromkeys(precompiles, "0x01")}
    return msgspec.json.encode({"current": current, "next": None})


@pytest.mark.parametrize(
    ("precompiles", "expected"),
    [
        (("P256VERIFY", "BLS12_G1ADD", "KZG_POINT_EVALUATION"), "osaka"),
        (("BLS12_G1ADD", "KZG_POINT_EVALUATION"), "prague"),
        (("KZG_POINT_EVALUATION", "ECREC"), "cancun"),
        (("ECREC",), "shanghai"),
    ],
)
def test_eth_config_says_which(precompiles: tuple[str, ...], expected: str) -> None:
    assert hardfork_of(OTHER, header(100), config(50, *precompiles)) == expected


@pytest.mark.parametrize(
    ("chain", "timestamp", "expected"),
    [
        (MAINNET, 1_500_000_000, "byzantium"),
        (MAINNET, 1_600_000_000, "istanbul"),
        (MAINNET, 1_663_224_178, "london"),
        (MAINNET, 1_663_224_179, "paris"),
        (MAINNET, 1_681_338_455, "shanghai"),
        (MAINNET, 1_720_000_000, "cancun"),
        (MAINNET, 1_746_612_311, "prague"),
        (MAINNET, 1_764_798_551, "osaka"),
        (SEPOLIA, 1_700_000_000, "shanghai"),
        (HOLESKY, 1_700_000_000, "shanghai"),
        (HOODI, 1_742_999_832, "prague"),
        (OTHER, 1_700_000_000, NEWEST),
    ],
)
def test_public_chains_are_known_by_time_and_others_have_the_newest(
    chain: int, timestamp: int, expected: str
) -> None:
    assert hardfork_of(chain, header(timestamp), None) == expected


def test_a_block_before_the_remotes_own_hardfork_is_not_of_it() -> None:
    newest = config(1_764_798_551, "P256VERIFY")
    assert hardfork_of(MAINNET, header(1_720_000_000), newest) == "cancun"


@pytest.mark.parametrize("body", [b"null", b"{", b"[]", b'{"current":7}', b'{"current":{}}', b'""'])
def test_what_is_no_configuration_is_ignored(body: bytes) -> None:
    assert hardfork_of(SEPOLIA, header(1_700_000_000), body) == "shanghai"
