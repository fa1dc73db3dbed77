"""The example account of several owners, two of whom have to sign."""

from __future__ import annotations

from itertools import combinations, permutations

import pytest
from eth_account.messages import encode_typed_data

from entresol._native import address_of, keccak256, public_key
from entresol.errors import AccountRejection, ExecutionReverted
from entresol.primitives.values import Address
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.contracts.accounts import NOBODY, ScriptedWorld, fill, sign_by, sign_message
from tests.support.contracts.layer_two import (
    ALICE,
    BOB,
    CHAIN_ID,
    ETHER,
    artifact_for_tests,
    calldata,
    encode,
)

KEYS = [bytes([0x31 + i]) * 32 for i in range(3)]
OWNERS = [Address(address_of(public_key(key))) for key in KEYS]
MESSAGE = keccak256(b"hello")
STRANGER = b"\x39" * 32


@pytest.fixture
def account(l2: ScriptedWorld) -> Address:
    """Deploy an account of three owners."""
    return l2.multisig(*OWNERS)


@pytest.mark.parametrize("keys", [*combinations(KEYS, 2)], ids=["1 and 2", "1 and 3", "2 and 3"])
def test_any_two_owners_send(l2: ScriptedWorld, account: Address, keys: tuple[bytes, ...]) -> None:
    InlineSequencer(l2.chain).submit(sign_by(fill(account, value=5), *keys).encode())
    assert l2.balance(NOBODY) == 5


@pytest.mark.parametrize(
    "keys",
    [KEYS[:1], KEYS, [KEYS[0]] * 2, [KEYS[1], KEYS[0]], [KEYS[0], STRANGER]],
    ids=["one", "three", "one twice", "wrong order", "a stranger"],
)
def test_nothing_else_is_signed(l2: ScriptedWorld, account: Address, keys: list[bytes]) -> None:
    with pytest.raises(AccountRejection, match="invalid magic value"):
        InlineSequencer(l2.chain).submit(sign_by(fill(account, value=5), *keys).encode())


def test_a_signature_is_for_one_transaction(l2: ScriptedWorld, account: Address) -> None:
    signature = sign_by(fill(account, value=5), *KEYS[:2]).custom_signature
    other = l2.from_contract(account, signature, value=6)
    with pytest.raises(AccountRejection, match="invalid magic value"):
        InlineSequencer(l2.chain).submit(other.raw)


def test_contracts_can_check_signatures(l2: ScriptedWorld, account: Address) -> None:
    for keys in permutations(KEYS, 2):
        signature = sign_message(l2, account, MESSAGE, *keys)
        is_ordered = KEYS.index(keys[0]) < KEYS.index(keys[1])
        assert l2.is_signed(account, MESSAGE, signature) is is_ordered


def test_what_is_signed_is_typed_data_of_the_account(l2: ScriptedWorld, account: Address) -> None:
    domain = {
        "name": "ExampleAccount",
        "version": "1",
        "chainId": CHAIN_ID,
        "verifyingContract": str(account),
    }
    types = {"AccountMessage": [{"name": "hash", "type": "bytes32"}]}
    signable = encode_typed_data(domain, types, {"hash": MESSAGE})
    digest = keccak256(b"\x19" + signable.version + signable.header + signable.body)
    assert l2.read(account, "replaySafeHash(bytes32)(bytes32)", MESSAGE) == digest


def test_a_signed_message_is_not_another_accounts(l2: ScriptedWorld, account: Address) -> None:
    signature = sign_message(l2, account, MESSAGE, *KEYS[:2])
    assert l2.is_signed(account, MESSAGE, signature)
    assert not l2.is_signed(l2.multisig(*OWNERS), MESSAGE, signature)


def test_a_signed_transaction_is_not_a_signed_message(l2: ScriptedWorld, account: Address) -> None:
    payload = fill(account)
    signature = sign_by(payload, *KEYS[:2]).custom_signature
    assert not l2.is_signed(account, payload.signing_hash(), signature)


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
