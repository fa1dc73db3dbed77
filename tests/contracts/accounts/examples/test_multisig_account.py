"""The example account of several owners, two of whom have to sign."""

from __future__ import annotations

from itertools import combinations, permutations

import pytest

from entresol._native import address_of, public_key
from entresol.errors import AccountRejection, ExecutionReverted
from entresol.primitives.values import Address
from tests.support.contracts.accounts import NOBODY, ScriptedWorld, fill, sign_by
from tests.support.contracts.layer_two import (
    ALICE,
    BOB,
    ETHER,
    artifact_for_tests,
    calldata,
    encode,
)

KEYS = [bytes([0x31 + i]) * 32 for i in range(3)]
OWNERS = [Address(address_of(public_key(key))) for key in KEYS]
STRANGER = b"\x39" * 32


@pytest.fixture
def account(l2: ScriptedWorld) -> Address:
    """Deploy an account of three owners."""
    return l2.multisig(*OWNERS)


@pytest.mark.parametrize("keys", [*combinations(KEYS, 2)], ids=["1 and 2", "1 and 3", "2 and 3"])
def test_any_two_owners_send(l2: ScriptedWorld, account: Address, keys: tuple[bytes, ...]) -> None:
    l2.chain.submit(sign_by(fill(account, value=5), *keys).encode())
    assert l2.balance(NOBODY) == 5


@pytest.mark.parametrize(
    "keys",
    [KEYS[:1], KEYS, [KEYS[0]] * 2, [KEYS[1], KEYS[0]], [KEYS[0], STRANGER]],
    ids=["one", "three", "one twice", "wrong order", "a stranger"],
)
def test_nothing_else_is_signed(l2: ScriptedWorld, account: Address, keys: list[bytes]) -> None:
    with pytest.raises(AccountRejection, match="invalid magic value"):
        l2.chain.submit(sign_by(fill(account, value=5), *keys).encode())


def test_a_signature_is_for_one_transaction(l2: ScriptedWorld, account: Address) -> None:
    signature = sign_by(fill(account, value=5), *KEYS[:2]).custom_signature
    other = l2.from_contract(account, signature, value=6)
    with pytest.raises(AccountRejection, match="invalid magic value"):
        l2.chain.submit(other.raw)


def test_contracts_can_check_signatures(l2: ScriptedWorld, account: Address) -> None:
    payload = fill(account)
    digest = payload.signing_hash()
    for keys in permutations(KEYS, 2):
        signature = sign_by(payload, *keys).custom_signature
        magic = l2.read(account, "isValidSignature(bytes32,bytes)(bytes4)", digest, signature)
        is_ordered = KEYS.index(keys[0]) < KEYS.index(keys[1])
        assert magic == (bytes.fromhex("1626ba7e") if is_ordered else bytes(4))


@pytest.mark.parametrize(
    ("owners", "threshold", "error"),
    [
        ([ALICE, BOB], 0, calldata("InvalidThreshold(uint256)", 0)),
        ([ALICE, BOB], 3, calldata("InvalidThreshold(uint256)", 3)),
        ([ALICE, Address.zero()], 2, calldata("InvalidOwner(address)", Address.zero())),
        ([ALICE, BOB, ALICE], 2, calldata("InvalidOwner(address)", ALICE)),
    ],
    ids=["no threshold", "too many", "zero", "twice"],
)
def test_owners_that_are_none_are_rejected(
    l2: ScriptedWorld, owners: list[Address], threshold: int, error: bytes
) -> None:
    code = artifact_for_tests("MultisigAccount").bytecode
    with pytest.raises(ExecutionReverted) as raised:
        l2.call(None, code + encode("(address[],uint256)", owners, threshold))
    assert raised.value.data == error


def test_only_the_bootloader_calls_it(l2: ScriptedWorld, account: Address) -> None:
    for by in (0, 1):
        assert not l2.send(account, bytes.fromhex("df9c1589") + bytes(1_024), by=by).succeeded
    assert l2.balance(account) == ETHER
