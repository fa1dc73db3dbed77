"""The example account whose owner lets other keys spend a budget on one contract."""

from __future__ import annotations

import msgspec
import pytest

from entresol._native import address_of, keccak256, public_key
from entresol.errors import AccountRejection
from entresol.primitives.transactions import ZkTransaction
from entresol.primitives.values import Address
from entresol.rollup.system_contracts import TESTNET_PAYMASTER
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.contracts.accounts import (
    GAS,
    NOBODY,
    ScriptedWorld,
    approval_based,
    fill,
    sign_by,
    sign_message,
)
from tests.support.contracts.layer_two import (
    ALICE,
    ETHER,
    FEE,
    SECRETS,
    artifact_for_tests,
    calldata,
)

OWNER = SECRETS[0]
KEY = b"\x41" * 32
SESSION = Address(address_of(public_key(KEY)))
COST = GAS * FEE
MESSAGE = keccak256(b"hello")


@pytest.fixture
def account(l2: ScriptedWorld) -> Address:
    """Deploy an account of Alice's."""
    account = l2.deploy(artifact_for_tests("SessionAccount"), "(address)", ALICE)
    assert l2.send(account, b"", value=ETHER).succeeded
    return account


@pytest.fixture
def game(l2: ScriptedWorld) -> Address:
    """Deploy the contract that sessions are for."""
    return l2.contract()


def open_session(l2: ScriptedWorld, account: Address, target: Address, budget: int) -> None:
    """Let the session key call a contract."""
    data = calldata("setSession(address,address,uint256)", SESSION, target, budget)
    send(l2, fill(account, to=account, data=data), OWNER)


def send(l2: ScriptedWorld, payload: ZkTransaction, key: bytes) -> None:
    """Send a transaction of the account, with its next nonce."""
    whole = fill_nonce(l2, payload)
    InlineSequencer(l2.chain).submit(sign_by(whole, key).encode())


def fill_nonce(l2: ScriptedWorld, payload: ZkTransaction) -> ZkTransaction:
    """Return a transaction with the next nonce of its sender."""
    return msgspec.structs.replace(payload, nonce=l2.min_nonce(payload.sender))


def budget_of(l2: ScriptedWorld, account: Address) -> int:
    """Return what the session may still spend."""
    _, budget = l2.read(account, "sessions(address)(address,uint256)", SESSION)
    return int(budget)


def test_a_session_calls_its_contract_and_spends(
    l2: ScriptedWorld, account: Address, game: Address
) -> None:
    open_session(l2, account, game, 2 * COST)
    send(l2, fill(account, to=game, value=7), KEY)
    assert l2.last().succeeded
    assert l2.balance(game) == 7
    assert budget_of(l2, account) == COST - 7


def test_a_session_ends_with_its_budget(l2: ScriptedWorld, account: Address, game: Address) -> None:
    open_session(l2, account, game, COST)
    with pytest.raises(AccountRejection, match="invalid magic value"):
        send(l2, fill(account, to=game, value=1), KEY)
    send(l2, fill(account, to=game), KEY)
    with pytest.raises(AccountRejection, match="invalid magic value"):
        send(l2, fill(account, to=game), KEY)


def test_a_session_calls_nothing_else(l2: ScriptedWorld, account: Address, game: Address) -> None:
    open_session(l2, account, game, ETHER)
    for target in (NOBODY, account, ALICE):
        with pytest.raises(AccountRejection, match="invalid magic value"):
            send(l2, fill(account, to=target), KEY)


def test_the_owner_ends_a_session(l2: ScriptedWorld, account: Address, game: Address) -> None:
    open_session(l2, account, game, ETHER)
    open_session(l2, account, game, 0)
    with pytest.raises(AccountRejection, match="invalid magic value"):
        send(l2, fill(account, to=game), KEY)


def test_no_session_is_for_the_account_itself(l2: ScriptedWorld, account: Address) -> None:
    open_session(l2, account, account, ETHER)
    assert not l2.last().succeeded
    assert budget_of(l2, account) == 0


def test_nobody_else_opens_a_session(l2: ScriptedWorld, account: Address, game: Address) -> None:
    data = calldata("setSession(address,address,uint256)", SESSION, game, ETHER)
    for by in (0, 1):
        assert not l2.send(account, data, by=by).succeeded


def test_a_paymaster_leaves_the_budget(l2: ScriptedWorld, account: Address, game: Address) -> None:
    open_session(l2, account, game, 10)
    send(l2, fill(account, to=game, value=7, paymaster=TESTNET_PAYMASTER), KEY)
    assert budget_of(l2, account) == 3


def test_a_session_gives_no_tokens_to_a_paymaster(
    l2: ScriptedWorld, account: Address, game: Address
) -> None:
    token = l2.token(account, 10 * COST)
    open_session(l2, account, game, ETHER)
    offer = approval_based(token, COST)
    payload = fill(account, to=game, paymaster=TESTNET_PAYMASTER, paymaster_input=offer)
    with pytest.raises(AccountRejection, match="invalid magic value"):
        send(l2, payload, KEY)
    send(l2, payload, OWNER)
    assert l2.token_balance(token, TESTNET_PAYMASTER) == COST


@pytest.mark.parametrize("size", [0, 64, 66])
def test_a_signature_has_one_size(l2: ScriptedWorld, account: Address, size: int) -> None:
    signature = sign_message(l2, account, MESSAGE, OWNER).ljust(66, b"\0")[:size]
    assert not l2.is_signed(account, MESSAGE, signature)


FREE = {"to": Address.zero(), "paymaster": TESTNET_PAYMASTER}
"""What costs the account nothing, on the target of a session that nobody has opened."""


def test_an_invalid_signature_is_not_a_session(l2: ScriptedWorld, account: Address) -> None:
    for signature in (bytes(65), b"\x01" * 65, b"\x01"):
        with pytest.raises(AccountRejection, match="invalid magic value"):
            InlineSequencer(l2.chain).submit(l2.from_contract(account, signature, **FREE).raw)


def test_an_unknown_key_is_not_a_session(l2: ScriptedWorld, account: Address) -> None:
    with pytest.raises(AccountRejection, match="invalid magic value"):
        send(l2, fill(account, **FREE), KEY)


@pytest.mark.parametrize("budget", [0, 7], ids=["ended", "spent"])
def test_a_session_without_a_budget_does_not_call_for_free(
    l2: ScriptedWorld, account: Address, game: Address, budget: int
) -> None:
    open_session(l2, account, game, ETHER)
    open_session(l2, account, game, budget)
    if budget:
        send(l2, fill(account, to=game, value=budget, paymaster=TESTNET_PAYMASTER), KEY)
    assert budget_of(l2, account) == 0
    with pytest.raises(AccountRejection, match="invalid magic value"):
        send(l2, fill(account, to=game, paymaster=TESTNET_PAYMASTER), KEY)


def test_no_session_is_for_the_key_of_an_invalid_signature(
    l2: ScriptedWorld, account: Address, game: Address
) -> None:
    data = calldata("setSession(address,address,uint256)", Address.zero(), game, ETHER)
    send(l2, fill(account, to=account, data=data), OWNER)
    assert not l2.last().succeeded
    with pytest.raises(AccountRejection, match="invalid magic value"):
        InlineSequencer(l2.chain).submit(l2.from_contract(account, bytes(65), to=game, nonce=1).raw)


def test_the_owner_signs_messages_and_a_session_does_not(
    l2: ScriptedWorld, account: Address, game: Address
) -> None:
    open_session(l2, account, game, ETHER)
    assert l2.is_signed(account, MESSAGE, sign_message(l2, account, MESSAGE, OWNER))
    assert not l2.is_signed(account, MESSAGE, sign_message(l2, account, MESSAGE, KEY))
