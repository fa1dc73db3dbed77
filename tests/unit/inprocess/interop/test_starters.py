"""Calls of bundles, as clients of the ZK Stack encode them."""

from __future__ import annotations

from entresol.inprocess.interop.starters import bundle_attributes, remote_call, token_transfer
from entresol.primitives import abi
from entresol.primitives.base_token import L2_ASSET_ROUTER
from entresol.primitives.interop_bundles import encode_erc7930
from entresol.primitives.values import Address, Hash32

BOB = Address(b"\x0b" * 20)
TOKEN = Address(b"\x07" * 20)
ASSET = Hash32(b"\x0a" * 32)


def test_a_payment_is_a_call_with_nothing_but_its_value() -> None:
    starter = remote_call(BOB, b"", 7)
    assert (starter.to, starter.data, starter.value) == (encode_erc7930(None, BOB), b"", 7)
    assert starter.attributes == (abi.encode_call("interopCallValue(uint256)", 7),)


def test_a_token_is_sent_by_the_router_without_value() -> None:
    starter = token_transfer(ASSET, 5, BOB, TOKEN)
    asset, burn = abi.decode("(bytes32,bytes)", starter.data[1:])
    assert starter.to == encode_erc7930(None, L2_ASSET_ROUTER)
    assert (starter.data[:1], bytes(asset)) == (b"\x01", bytes(ASSET))
    assert burn == abi.encode("(uint256,address,address)", (5, BOB, TOKEN))
    assert starter.attributes == (abi.encode_call("indirectCall(uint256)", 0),)
    assert starter.indirect_value == 0


def test_a_base_token_is_the_value_of_the_call_of_the_router() -> None:
    starter = token_transfer(ASSET, 5, BOB, TOKEN, 5)
    assert starter.attributes == (abi.encode_call("indirectCall(uint256)", 5),)
    assert (starter.value, starter.indirect_value) == (0, 5)


def test_the_accounts_of_a_bundle_are_twenty_bytes() -> None:
    assert bundle_attributes(None, None) == []
    assert bundle_attributes(BOB, TOKEN) == [
        abi.encode_call("executionAddress(bytes)", bytes(BOB)),
        abi.encode_call("unbundlerAddress(bytes)", bytes(TOKEN)),
    ]
