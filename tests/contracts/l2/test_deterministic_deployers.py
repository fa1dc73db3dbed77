"""The deterministic deployers, compared with the keyless transactions that deployed them."""

from __future__ import annotations

import pytest

from entresol._native import rlp_encode
from entresol.contracts import artifact
from entresol.primitives.rlp import encode_uint
from entresol.primitives.transactions import Transaction, decode
from entresol.primitives.values import Address, Hash32, create_address
from entresol.rollup.system_contracts import (
    DEPLOYERS,
    DETERMINISTIC_PROXY,
    PROXY_CODE,
    SAFE_FACTORY,
    SINGLETON_CODE,
    SINGLETON_FACTORY,
)
from tests.support.contracts.create2 import create2_address
from tests.support.contracts.layer_two import LayerTwo, calldata

SALT = Hash32(b"\x5a" * 32)
INIT = artifact("L1Messenger").bytecode


def signed(init_code: bytes, gas: int, r: int, s: int) -> Transaction:
    """Return a keyless deployment at 100 gwei: its signature was chosen, and its sender recovered."""
    numbers = [encode_uint(number) for number in (0, 100 * 10**9, gas)]
    signature = [encode_uint(number) for number in (27, r, s)]
    return decode(rlp_encode([*numbers, b"", b"", init_code, *signature]))


@pytest.mark.parametrize(
    ("transaction", "sender", "address"),
    [
        (
            signed(
                bytes.fromhex("604580600e600039806000f350fe") + PROXY_CODE,
                100_000,
                int("22" * 32, 16),
                int("22" * 32, 16),
            ),
            "0x3fab184622dc19b6109349b94811493bf2a45362",
            DETERMINISTIC_PROXY,
        ),
        (
            signed(
                bytes.fromhex("608060405234801561001057600080fd5b50610134806100206000396000f3fe")
                + SINGLETON_CODE,
                247_000,
                0x247000,
                0x2470,
            ),
            "0xbb6e024b9cffacb947a71991e386681b1cd1477d",
            SINGLETON_FACTORY,
        ),
    ],
    ids=["proxy", "singleton factory"],
)
def test_the_code_is_what_the_keyless_transaction_deploys(
    l2: LayerTwo, transaction: Transaction, sender: str, address: Address
) -> None:
    assert str(transaction.sender) == sender
    assert create_address(transaction.sender, 0) == address
    init_code = transaction.payload.data
    assert l2.call(None, init_code) == l2.code(address) == DEPLOYERS[address]


@pytest.mark.parametrize("deployer", [DETERMINISTIC_PROXY, SAFE_FACTORY])
def test_a_proxy_deploys_by_salt_and_init_code(l2: LayerTwo, deployer: Address) -> None:
    expected = create2_address(deployer, SALT, INIT)
    assert l2.call(deployer, SALT + INIT) == expected
    assert l2.send(deployer, SALT + INIT).succeeded
    assert l2.code(expected) == artifact("L1Messenger").runtime


def test_the_singleton_factory_deploys_by_salt_and_init_code(l2: LayerTwo) -> None:
    expected = create2_address(SINGLETON_FACTORY, SALT, INIT)
    assert l2.send(SINGLETON_FACTORY, calldata("deploy(bytes,bytes32)", INIT, SALT)).succeeded
    assert l2.code(expected) == artifact("L1Messenger").runtime
