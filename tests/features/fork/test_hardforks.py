"""The hardfork of a remote block."""

from __future__ import annotations

import msgspec
import pytest

from entresol.features.fork.hardforks import NEWEST, Hardforks, marks_of, marks_of_json

MAINNET, SEPOLIA, HOLESKY, HOODI, OTHER = 1, 11_155_111, 17_000, 560_048, 424_242


LATER = marks_of(
    {
        "baseFeePerGas": "0x7", "difficulty": "0x0", "withdrawalsRoot": "0x1", "blobGasUsed": "0x0",
        "parentBeaconBlockRoot": "0x2", "requestsHash": "0x3",
    }
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
    assert Hardforks(OTHER, config(50, *precompiles)).of(100, frozenset()) == expected


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
    assert Hardforks(chain).of(timestamp, frozenset()) == expected


def test_a_block_before_the_remotes_own_hardfork_is_not_of_it() -> None:
    newest = config(1_764_798_551, "P256VERIFY")
    assert Hardforks(MAINNET, newest).of(1_720_000_000, LATER) == "cancun"


@pytest.mark.parametrize("body", [b"null", b"{", b"[]", b'{"current":7}', b'{"current":{}}', b'""'])
def test_what_is_no_configuration_is_ignored(body: bytes) -> None:
    assert Hardforks(SEPOLIA, body).of(1_700_000_000, LATER) == "shanghai"


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"requestsHash": "0x", "blobGasUsed": "0x0", "withdrawalsRoot": "0x", "difficulty": "0x0", "baseFeePerGas": "0x1"}, NEWEST),
        ({"blobGasUsed": "0x0", "withdrawalsRoot": "0x", "difficulty": "0x0", "baseFeePerGas": "0x1"}, "cancun"),
        ({"withdrawalsRoot": "0x", "difficulty": "0x0", "baseFeePerGas": "0x1"}, "shanghai"),
        ({"difficulty": "0x0", "baseFeePerGas": "0x1"}, "paris"),
        ({"difficulty": "0x2", "baseFeePerGas": "0x1"}, "london"),
        ({"difficulty": "0x2"}, "berlin"),
    ],
)  # fmt: skip
def test_a_block_without_a_field_that_its_chain_has_now_is_of_the_hardfork_before(
    block: dict[str, str], expected: str
) -> None:
    assert Hardforks(OTHER, None, LATER).of(1_700_000_000, marks_of(block)) == expected


def test_a_field_that_a_chain_does_not_have_now_says_nothing_of_its_past() -> None:
    # As Arbitrum and Polygon: without withdrawals, with PUSH0.
    now = marks_of({"baseFeePerGas": "0x1", "difficulty": "0x1"})
    assert Hardforks(OTHER, None, now).of(1_700_000_000, now) == NEWEST
    assert Hardforks(OTHER, None, now).of(1_600_000_000, frozenset()) == "berlin"


def test_a_block_is_of_no_later_hardfork_than_its_remote() -> None:
    cancun = config(1_710_000_000, "KZG_POINT_EVALUATION")
    assert Hardforks(OTHER, cancun, LATER).of(1_700_000_000, LATER) == "cancun"
    assert Hardforks(OTHER, cancun, LATER).of(1_700_000_000, LATER - {"prague"}) == "cancun"


def test_a_test_network_has_merged_where_its_headers_say_so() -> None:
    merged = marks_of({"baseFeePerGas": "0x1", "difficulty": "0x0"})
    assert Hardforks(SEPOLIA).of(1_660_000_000, merged) == "paris"
    assert Hardforks(SEPOLIA).of(1_640_000_000, merged - {"paris"}) == "london"


@pytest.mark.parametrize("json", [b"null", b"{", b"[]", b"7"])
def test_what_is_no_block_has_no_fields(json: bytes) -> None:
    assert marks_of_json(json) == frozenset()
