"""The example accounts and paymasters: who signs, what a session may spend, and for whom a paymaster pays."""

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
    GENERAL,
    NOBODY,
    ScriptedWorld,
    approval_based,
    fill,
    sign_by,
    sign_message,
)
from tests.support.contracts.layer_two import (
    ALICE,
    BOB,
    ETHER,
    FEE,
    SECRETS,
    artifact_for_tests,
    calldata,
)

KEYS = [bytes([0x31 + i]) * 32 for i in range(3)]
OWNERS = [Address(address_of(public_key(key))) for key in KEYS]
STRANGER = b"\x39" * 32
MESSAGE = keccak256(b"hello")
OWNER, KEY = SECRETS[0], b"\x41" * 32
SESSION = Address(address_of(public_key(KEY)))
COST = GAS * FEE
UNSIGNED = pytest.raises(AccountRejection, match="invalid magic value")


def submit(l2: ScriptedWorld, payload: ZkTransaction, *keys: bytes) -> None:
    """Send a transaction of an account with its next nonce, signed by all keys."""
    whole = msgspec.structs.replace(payload, nonce=l2.min_nonce(payload.sender))
    InlineSequencer(l2.chain).submit(sign_by(whole, *keys).encode())


def funded(l2: ScriptedWorld, name: str, types: str, *arguments: object) -> Address:
    """Deploy a contract, and give it an ether."""
    address = l2.deploy(artifact_for_tests(name), types, *arguments)
    assert l2.send(address, b"", value=ETHER).succeeded
    return address


@pytest.fixture
def multisig(l2: ScriptedWorld) -> Address:
    return l2.multisig(*OWNERS)


@pytest.mark.parametrize(
    "keys",
    [KEYS[:1], KEYS, [KEYS[0]] * 2, [KEYS[1], KEYS[0]], [KEYS[0], STRANGER]],
    ids=["one", "three", "one twice", "wrong order", "a stranger"],
)
def test_nothing_else_is_signed(l2: ScriptedWorld, multisig: Address, keys: list[bytes]) -> None:
    with UNSIGNED:
        submit(l2, fill(multisig, value=5), *keys)


@pytest.mark.parametrize("kind", ["multisig", "session"])
def test_a_signed_message_is_not_another_accounts(l2: ScriptedWorld, kind: str) -> None:
    if kind == "multisig":
        (one, other), keys = [l2.multisig(*OWNERS) for _ in range(2)], KEYS[:2]
    else:
        code = artifact_for_tests("SessionAccount")
        (one, other), keys = [l2.deploy(code, "(address)", ALICE) for _ in range(2)], [OWNER]
    signature = sign_message(l2, one, MESSAGE, *keys)
    assert l2.is_signed(one, MESSAGE, signature)
    assert not l2.is_signed(other, MESSAGE, signature)


def test_a_signed_transaction_is_not_a_signed_message(
    l2: ScriptedWorld, multisig: Address, account: Address
) -> None:
    for sender, keys in ((multisig, KEYS[:2]), (account, [OWNER])):
        payload = fill(sender)
        signature = sign_by(payload, *keys).custom_signature
        assert not l2.is_signed(sender, payload.signing_hash(), signature)


# --- An account whose owner lets other keys spend a budget on one contract ---


@pytest.fixture
def account(l2: ScriptedWorld) -> Address:
    """Deploy an account of Alice's."""
    return funded(l2, "SessionAccount", "(address)", ALICE)


@pytest.fixture
def game(l2: ScriptedWorld) -> Address:
    """Deploy the contract that sessions are for."""
    return l2.contract()


def open_session(
    l2: ScriptedWorld, account: Address, target: Address, budget: int, key: Address = SESSION
) -> None:
    """Let a key call a contract."""
    data = calldata("setSession(address,address,uint256)", key, target, budget)
    submit(l2, fill(account, to=account, data=data), OWNER)


def budget_of(l2: ScriptedWorld, account: Address) -> int:
    """Return what the session may still spend."""
    _, budget = l2.read(account, "sessions(address)(address,uint256)", SESSION)
    return int(budget)


def test_a_session_spends_and_ends_with_its_budget(
    l2: ScriptedWorld, account: Address, game: Address
) -> None:
    open_session(l2, account, game, 2 * COST)
    submit(l2, fill(account, to=game, value=7), KEY)
    assert l2.last().succeeded
    assert (l2.balance(game), budget_of(l2, account)) == (7, COST - 7)
    with UNSIGNED:
        submit(l2, fill(account, to=game), KEY)


def test_a_session_calls_nothing_else(l2: ScriptedWorld, account: Address, game: Address) -> None:
    open_session(l2, account, game, ETHER)
    for target in (NOBODY, account, ALICE):
        with UNSIGNED:
            submit(l2, fill(account, to=target), KEY)


def test_no_session_is_for_the_account_itself(l2: ScriptedWorld, account: Address) -> None:
    open_session(l2, account, account, ETHER)
    assert not l2.last().succeeded
    assert budget_of(l2, account) == 0


def test_a_session_gives_no_tokens_to_a_paymaster(
    l2: ScriptedWorld, account: Address, game: Address
) -> None:
    token = l2.token(account, 10 * COST)
    open_session(l2, account, game, ETHER)
    offer = approval_based(token, COST)
    payload = fill(account, to=game, paymaster=TESTNET_PAYMASTER, paymaster_input=offer)
    with UNSIGNED:
        submit(l2, payload, KEY)
    submit(l2, payload, OWNER)
    assert l2.token_balance(token, TESTNET_PAYMASTER) == COST


FREE = {"to": Address.zero(), "paymaster": TESTNET_PAYMASTER}
"""What costs the account nothing, on the target of a session that nobody has opened."""


def test_an_invalid_signature_is_not_a_session(l2: ScriptedWorld, account: Address) -> None:
    for signature in (bytes(65), b"\x01" * 65, b"\x01"):
        with UNSIGNED:
            InlineSequencer(l2.chain).submit(l2.from_contract(account, signature, **FREE).raw)


def test_an_unknown_key_is_not_a_session(l2: ScriptedWorld, account: Address) -> None:
    with UNSIGNED:
        submit(l2, fill(account, **FREE), KEY)


@pytest.mark.parametrize("budget", [0, 7], ids=["ended", "spent"])
def test_a_session_without_a_budget_does_not_call_for_free(
    l2: ScriptedWorld, account: Address, game: Address, budget: int
) -> None:
    open_session(l2, account, game, ETHER)
    open_session(l2, account, game, budget)
    if budget:
        submit(l2, fill(account, to=game, value=budget, paymaster=TESTNET_PAYMASTER), KEY)
    assert budget_of(l2, account) == 0
    with UNSIGNED:
        submit(l2, fill(account, to=game, paymaster=TESTNET_PAYMASTER), KEY)


def test_no_session_is_for_the_key_of_an_invalid_signature(
    l2: ScriptedWorld, account: Address, game: Address
) -> None:
    open_session(l2, account, game, ETHER, Address.zero())
    assert not l2.last().succeeded
    with UNSIGNED:
        InlineSequencer(l2.chain).submit(l2.from_contract(account, bytes(65), to=game, nonce=1).raw)


def test_the_owner_signs_messages_and_a_session_does_not(
    l2: ScriptedWorld, account: Address, game: Address
) -> None:
    open_session(l2, account, game, ETHER)
    assert l2.is_signed(account, MESSAGE, sign_message(l2, account, MESSAGE, OWNER))
    assert not l2.is_signed(account, MESSAGE, sign_message(l2, account, MESSAGE, KEY))


@pytest.fixture
def sponsor(l2: ScriptedWorld) -> Address:
    """Deploy a paymaster of Alice's that sponsors Bob."""
    return funded(l2, "SponsorPaymaster", "(address[])", [BOB])


def test_it_pays_for_senders_on_its_list_alone(l2: ScriptedWorld, sponsor: Address) -> None:
    before = l2.balance(BOB)
    InlineSequencer(l2.chain).submit(l2.from_key(1, paymaster=sponsor, value=3).raw)
    assert l2.balance(BOB) == before - 3
    assert l2.balance(sponsor) == ETHER - l2.last().gas_used * FEE
    with pytest.raises(AccountRejection, match=calldata("NotSponsored(address)", ALICE).hex()):
        InlineSequencer(l2.chain).submit(l2.from_key(paymaster=sponsor).raw)


def test_its_owner_alone_changes_the_list_and_withdraws(
    l2: ScriptedWorld, sponsor: Address
) -> None:
    change = "setSponsored(address,bool)"
    for data in (calldata(change, ALICE, True), calldata("withdraw(uint256)", 1)):
        assert not l2.send(sponsor, data, by=1).succeeded
    assert l2.send(sponsor, calldata(change, ALICE, True)).succeeded
    InlineSequencer(l2.chain).submit(l2.from_key(paymaster=sponsor).raw)
    assert l2.send(sponsor, calldata(change, ALICE, False)).succeeded
    with pytest.raises(AccountRejection):
        InlineSequencer(l2.chain).submit(l2.from_key(paymaster=sponsor).raw)
    assert l2.send(sponsor, calldata("withdraw(uint256)", l2.balance(sponsor))).succeeded
    assert l2.balance(sponsor) == 0


def test_it_takes_its_token_and_nothing_less(l2: ScriptedWorld) -> None:
    token, other = l2.token(amount=50), l2.token()
    paymaster = funded(l2, "TokenPaymaster", "(address)", token)
    for message, reason in (
        (approval_based(token, 0), "Min allowance too low"),
        (GENERAL, calldata("UnsupportedPaymasterFlow()").hex()),
        (approval_based(other, 1), "Invalid token"),
    ):
        with pytest.raises(AccountRejection, match=reason):
            InlineSequencer(l2.chain).submit(
                l2.from_key(paymaster=paymaster, paymaster_input=message).raw
            )
    before = l2.balance(ALICE)
    paid = l2.from_key(paymaster=paymaster, paymaster_input=approval_based(token, 1))
    InlineSequencer(l2.chain).submit(paid.raw)
    assert l2.last().succeeded
    assert l2.balance(ALICE) == before
    assert (l2.token_balance(token, ALICE), l2.token_balance(token, paymaster)) == (49, 1)
