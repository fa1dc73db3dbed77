"""Chains whose gas is paid in a token of L1: every route of deposits, their way back, and what odd tokens can do."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

import pytest
from eth_abi import abi
from hypothesis import given, settings
from hypothesis import strategies as st

from entresol.primitives.values import Address, Hash32
from tests.support.contracts.engine import ETHER, GWEI, Contract, Reverted, reverted
from tests.support.contracts.l1_contracts import (
    ALICE,
    BOB,
    CHAIN_ID,
    DEPLOYER,
    ETH_TOKEN,
    L2_ASSET_ROUTER,
    L2_BASE_TOKEN,
    OPERATOR,
    OTHER_CHAIN_ID,
    Deployed,
    asset_id,
    burn_data,
    deploy,
    mint_data,
    two_bridges,
)
from tests.support.contracts.requests import (
    asset_message,
    claim,
    deposit,
    ether_message,
    fee,
    finalize,
    payload,
    request,
    status_proof,
)
from tests.support.run.examples import examples

THIRD_CHAIN_ID = 272
UNLIMITED = 2**256 - 1
RATIO = (3000, 1)
"""A token of 18 decimals, of which an ether costs 3,000."""
SIX_DECIMALS = (3, 10**9)
"""The same, if the token has 6 decimals: 3,000 * 10**6 units for 10**18 wei."""
GAS = 1_000_000
REVERTS = bytes.fromhex("5f5ffd")
RECOVER = "bridgeRecoverFailedTransfer(uint256,address,bytes32,bytes,bytes32,uint256,uint256,uint16,bytes32[])"


@dataclass(frozen=True)
class TokenChain:
    """A chain, the token that its gas is paid in, and what users and its operator do."""

    l1: Deployed
    token: Address
    chain_id: int = OTHER_CHAIN_ID

    def deposit_base(
        self, mint: int, *, value: int = 0, sender: Address = ALICE, **fields: Any
    ) -> Hash32:
        fields |= {"chain_id": self.chain_id, "mint_value": mint}
        return request(self.l1, sender=sender, value=value, **fields)

    def deposit(
        self, token: Address, amount: int, *, mint: int = ETHER, ether: int | None = None
    ) -> Hash32:
        """Deposit another asset through the router; gas is paid in the base token."""
        inner = burn_data(amount, BOB, token)
        data = b"\x01" + abi.encode(["bytes32", "bytes"], [asset_id(token), inner])
        value = amount if token == ETH_TOKEN else 0
        paid = value + mint if self.token == ETH_TOKEN else value
        fields: dict[str, Any] = {
            "chain_id": self.chain_id,
            "mint_value": mint,
            "bridge_value": value,
        }
        return deposit(self.l1, data, value=paid if ether is None else ether, **fields)

    def withdraw_base(self, amount: int) -> tuple[Any, ...]:
        """Settle a withdrawal of the base token to Bob, and return the claim of it."""
        return self._settle(L2_BASE_TOKEN, ether_message(BOB, amount))

    def withdraw(self, token: Address, amount: int) -> tuple[Any, ...]:
        """Settle a withdrawal of another asset to Bob, and return the claim of it."""
        mint = mint_data(BOB, token, amount)
        return self._settle(L2_ASSET_ROUTER, asset_message(asset_id(token), mint, self.chain_id))

    def claim(self, withdrawal: tuple[Any, ...]) -> None:
        finalize(self.l1, withdrawal)

    def failure(self, token: Address, amount: int, tx_hash: Hash32) -> tuple[Any, ...]:
        """Settle a deposit as failed, and return the claim of its refund."""
        claimed = (self.chain_id, ALICE, asset_id(token), burn_data(amount, BOB, token))
        return (*claimed, *status_proof(self.l1, tx_hash))

    def recover(self, refund: tuple[Any, ...]) -> None:
        self.l1.engine.send(OPERATOR, self.l1.router, RECOVER, *refund)

    def balance(self, token: Address | None = None) -> int:
        asked = (self.chain_id, asset_id(token or self.token))
        return int(self.l1.engine.read(self.l1.vault, "chainBalance", *asked))

    def price(self, gas_price: int = GWEI) -> int:
        return int(self.l1.engine.read(self.l1.chain, "l2TransactionBaseCost", gas_price, 1, 800))

    def _settle(self, sender: Address, message: bytes) -> tuple[Any, ...]:
        return claim(self.l1, message, sender, chain_id=self.chain_id)


def chain_of(
    l1: Deployed, token: Contract, ratio: tuple[int, int] = RATIO, chain_id: int = OTHER_CHAIN_ID
) -> TokenChain:
    """Register a chain with this base token, of which Alice gives the router any amount."""
    l1.engine.send(BOB, l1.vault, "ensureTokenIsRegistered", token.address)
    chain = l1.add_chain(chain_id, token.address, ratio=ratio)
    l1.engine.send(ALICE, token, "approve", l1.router.address, UNLIMITED)
    return TokenChain(replace(l1, chain=chain), token.address, chain_id)


def held(l1: Deployed, token: Contract, owner: Address) -> int:
    return int(l1.engine.read(token, "balanceOf", owner))


@pytest.fixture
def token(l1: Deployed) -> Contract:
    return l1.token()


@pytest.fixture
def there(l1: Deployed, token: Contract) -> TokenChain:
    """Return a chain whose gas is paid in the token."""
    return chain_of(l1, token)


# --- The base token ---


def test_it_is_deposited_by_a_plain_request(
    l1: Deployed, token: Contract, there: TokenChain
) -> None:
    tx_hash = there.deposit_base(5 * ETHER, l2_value=2 * ETHER)
    sent = payload(there.l1)
    assert sent.hash() == tx_hash
    assert (sent.sender, sent.to_mint, sent.value) == (ALICE, 5 * ETHER, 2 * ETHER)
    assert there.balance() == held(l1, token, l1.vault.address) == 5 * ETHER
    assert there.balance(ETH_TOKEN) == l1.engine.balance(l1.vault.address) == 0


def test_ether_beside_it_is_rejected(there: TokenChain) -> None:
    for value in (1, ETHER):
        with reverted("MsgValueMismatch", 0, value):
            there.deposit_base(ETHER, value=value)


@pytest.mark.parametrize("legacy", [False, True])
def test_it_is_not_deposited_through_the_router(
    l1: Deployed, token: Contract, there: TokenChain, legacy: bool
) -> None:
    inner = burn_data(7, BOB, token.address)
    data = b"\x01" + abi.encode(["bytes32", "bytes"], [asset_id(token.address), inner])
    if legacy:
        data = abi.encode(["address", "uint256", "address"], [token.address, 7, BOB])
    asked = two_bridges(l1.router.address, data, chain_id=OTHER_CHAIN_ID)
    with pytest.raises(Reverted, match="AssetIdNotSupported"):
        l1.engine.send(ALICE, l1.bridgehub, "requestL2TransactionTwoBridges", asked)
    assert there.balance() == held(l1, token, l1.vault.address) == 0


def test_it_is_withdrawn_once_and_in_the_token(
    l1: Deployed, token: Contract, there: TokenChain
) -> None:
    there.deposit_base(5 * ETHER)
    l1.engine.overlay.set_balance(l1.vault.address, 9 * ETHER)
    before = l1.engine.balance(BOB)
    withdrawal = there.withdraw_base(3 * ETHER)
    there.claim(withdrawal)
    assert held(l1, token, BOB) == 3 * ETHER
    assert l1.engine.balance(BOB) == before
    assert there.balance() == 2 * ETHER
    with pytest.raises(Reverted, match="WithdrawalAlreadyFinalized"):
        there.claim(withdrawal)


def test_ether_in_the_old_encoding_is_what_was_paid_and_is_refunded(
    l1: Deployed, there: TokenChain
) -> None:
    """zksync2 gives no amount of ether."""
    data = abi.encode(["address", "uint256", "address"], [ETH_TOKEN, 0, BOB])
    asked = two_bridges(
        *(l1.router.address, data), chain_id=there.chain_id, mint_value=ETHER, bridge_value=7
    )
    function = "requestL2TransactionTwoBridges"
    sent = Hash32(l1.engine.send(ALICE, l1.bridgehub, function, asked, value=7))
    assert there.balance(ETH_TOKEN) == l1.engine.balance(l1.vault.address) == 7
    before = l1.engine.balance(ALICE)
    there.recover(there.failure(ETH_TOKEN, 7, sent))
    assert l1.engine.balance(ALICE) == before + 7
    assert there.balance(ETH_TOKEN) == 0


@pytest.mark.parametrize("sent", [0, 4, 6, 5 + ETHER])
def test_ether_of_another_amount_than_is_deposited_is_rejected(
    there: TokenChain, sent: int
) -> None:
    with reverted("MsgValueMismatch", 5, sent):
        there.deposit(ETH_TOKEN, 5, ether=sent)


@pytest.mark.parametrize("is_ether", [True, False])
def test_a_deposit_that_failed_is_refunded_once_and_its_fee_is_not(
    l1: Deployed, token: Contract, there: TokenChain, is_ether: bool
) -> None:
    other = l1.token()
    l1.engine.send(ALICE, other, "approve", l1.router.address, UNLIMITED)
    asset = ETH_TOKEN if is_ether else other.address
    tx_hash = there.deposit(asset, 5 * ETHER)
    refund = there.failure(asset, 5 * ETHER, tx_hash)
    before = l1.engine.balance(ALICE)
    there.recover(refund)
    assert l1.engine.balance(ALICE) - before == (5 * ETHER if is_ether else 0)
    assert held(l1, other, ALICE) == 1000 * ETHER
    assert (there.balance(asset), there.balance()) == (0, ETHER)
    assert held(l1, token, l1.vault.address) == ETHER
    with pytest.raises(Reverted, match="DepositDoesNotExist"):
        there.recover(refund)


def test_a_chain_takes_no_more_than_l1_holds_for_it(
    l1: Deployed, token: Contract, there: TokenChain
) -> None:
    elsewhere = chain_of(l1, token, chain_id=THIRD_CHAIN_ID)
    here = TokenChain(l1, ETH_TOKEN, CHAIN_ID)
    elsewhere.deposit_base(5 * ETHER)
    elsewhere.deposit(ETH_TOKEN, 5 * ETHER)
    here.deposit(token.address, 5 * ETHER)
    there.deposit_base(ETHER)
    for lie in (
        there.withdraw_base(ETHER + 1),
        there.withdraw(token.address, ETHER + 1),
        there.withdraw(ETH_TOKEN, 1),
    ):
        with pytest.raises(Reverted, match="InsufficientChainBalance"):
            there.claim(lie)
    there.claim(there.withdraw_base(ETHER))
    assert (there.balance(), elsewhere.balance()) == (0, 6 * ETHER)
    assert held(l1, token, l1.vault.address) == 11 * ETHER


def register(l1: Deployed, asset: bytes) -> None:
    chain = l1.new_chain()
    l1.engine.send(
        DEPLOYER, l1.bridgehub, "registerChain",
        OTHER_CHAIN_ID, l1.manager.address, chain.address, asset, b"\1" * 32,
    )  # fmt: skip


def test_a_token_that_the_vault_does_not_know_is_no_base_token(l1: Deployed) -> None:
    for token in (l1.token().address, BOB):
        with pytest.raises(Reverted, match="AssetIdNotSupported"):
            register(l1, asset_id(token))
    assert l1.engine.read(l1.bridgehub, "getAllZKChainChainIDs") == (CHAIN_ID,)


def test_a_token_of_an_l2_is_no_base_token(l1: Deployed) -> None:
    origin = Address(b"\x70" * 20)
    asset = asset_id(origin, CHAIN_ID)
    described = [
        abi.encode([kind], [it]) for kind, it in (("string", "T"), ("string", "T"), ("uint8", 6))
    ]
    metadata = b"\x01" + abi.encode(["uint256", "bytes", "bytes", "bytes"], [CHAIN_ID, *described])
    kinds = ["address", "address", "address", "uint256", "bytes"]
    data = abi.encode(kinds, [BOB, ALICE, origin, 5, metadata])
    finalize(l1, claim(l1, asset_message(asset, data), L2_ASSET_ROUTER))
    assert l1.engine.read(l1.vault, "originChainId", asset) == CHAIN_ID
    with reverted("AssetIdNotSupported", asset):
        register(l1, asset)


# --- The price of ether in the base token ---


@pytest.mark.parametrize(("ratio", "error"), [((0, 1), "Nominator"), ((1, 0), "Denominator")])
def test_no_chain_starts_with_a_price_of_zero_or_of_nothing(
    l1: Deployed, ratio: tuple[int, int], error: str
) -> None:
    with pytest.raises(Reverted, match=f"{error}IsZero"):
        l1.new_chain(ratio=ratio)


@pytest.mark.parametrize("ratio", [(2**128, 1), (1, 2**128), (2**256 - 1, 1)])
def test_a_price_beyond_128_bits_is_rejected(there: TokenChain, ratio: tuple[int, int]) -> None:
    chain = there.l1.chain
    accepted = chain.encode("setTokenMultiplier", 2**128 - 1, 2**128 - 1)
    too_large = accepted[:4] + b"".join(it.to_bytes(32) for it in ratio)
    there.l1.engine.send_data(DEPLOYER, chain.address, accepted)
    with pytest.raises(Reverted, match="nothing"):
        there.l1.engine.send_data(DEPLOYER, chain.address, too_large)


def test_a_new_price_counts_for_requests_after_it_and_not_for_those_before(
    there: TokenChain,
) -> None:
    there.deposit_base(ETHER)
    first = payload(there.l1).max_fee_per_gas
    l1 = there.l1
    l1.engine.send(DEPLOYER, l1.chain, "setTokenMultiplier", 1000, 1)
    (event,) = l1.engine.events(l1.chain)
    assert event.name == "NewBaseTokenMultiplier"
    assert tuple(event.fields.values()) == (3000, 1, 1000, 1)
    there.deposit_base(ETHER)
    assert payload(l1).max_fee_per_gas * 3 == first == 3000 * fee(GWEI)
    assert there.balance() == 2 * ETHER


@pytest.mark.parametrize(
    ("name", "error"),
    [("FeeToken", "TokensWithFeesNotSupported"), ("RejectingToken", "TokenTransferFailed")],
)
def test_a_base_token_that_does_not_arrive_whole_is_rejected(
    l1: Deployed, name: str, error: str
) -> None:
    token = l1.token(name)
    there = chain_of(l1, token)
    with pytest.raises(Reverted, match=error):
        there.deposit_base(ETHER)
    with pytest.raises(Reverted, match=error):
        there.deposit(ETH_TOKEN, 5)
    assert there.balance() == there.balance(ETH_TOKEN) == held(l1, token, l1.vault.address) == 0
    assert l1.engine.read(there.l1.chain, "getTotalPriorityTxs") == 0


def test_a_base_token_that_reverts_stops_its_chain_alone_and_leaves_withdrawals_open(
    l1: Deployed, token: Contract, there: TokenChain
) -> None:
    there.deposit_base(5 * ETHER)
    withdrawal = there.withdraw_base(ETHER)
    elsewhere = chain_of(l1, l1.token(), chain_id=THIRD_CHAIN_ID)
    l1.engine.overlay.set_code(token.address, REVERTS)
    with pytest.raises(Reverted):
        there.deposit_base(ETHER)
    with pytest.raises(Reverted, match="TokenTransferFailed"):
        there.claim(withdrawal)
    assert there.balance() == 5 * ETHER
    elsewhere.deposit_base(ETHER)
    l1.engine.overlay.set_code(token.address, runtime(l1, l1.token()))
    there.claim(withdrawal)
    assert (there.balance(), held(l1, token, BOB)) == (4 * ETHER, ETHER)


def runtime(l1: Deployed, token: Contract) -> bytes:
    account = l1.engine.overlay.account(token.address)
    assert account is not None
    return bytes(l1.engine.overlay.code(account.code_hash))


ASSETS = ("ether", "eighteen", "six")
STEPS = st.tuples(
    st.sampled_from(["deposit", "withdraw", "fail", "ratio"]),
    st.integers(0, 3),
    st.sampled_from(ASSETS),
    st.integers(1, 3 * ETHER),
)


class Ecosystem:
    """Four chains with three base tokens, and a model of what L1 holds for each."""

    def __init__(self) -> None:
        self.l1 = deploy()
        tokens = [self.l1.token(), self.l1.token("TestERC20", "Six", "SIX", 6)]
        self.tokens = dict(zip(ASSETS[1:], tokens, strict=True))
        self.addresses = {"ether": ETH_TOKEN} | {
            it: token.address for it, token in self.tokens.items()
        }
        eighteen, six = tokens
        self.chains = [
            TokenChain(self.l1, ETH_TOKEN, CHAIN_ID),
            chain_of(self.l1, eighteen, RATIO, OTHER_CHAIN_ID),
            chain_of(self.l1, six, SIX_DECIMALS, THIRD_CHAIN_ID),
            chain_of(self.l1, eighteen, (1, 7), THIRD_CHAIN_ID + 1),
        ]
        self.owed: defaultdict[tuple[int, Address], int] = defaultdict(int)

    def deposit(self, chain: TokenChain, token: Address, amount: int) -> Hash32:
        """Deposit an asset by its route, with enough for the fee."""
        mint = chain.price() * GAS
        if token == chain.token:
            self.owed[chain.chain_id, token] += mint + amount
            value = mint + amount if token == ETH_TOKEN else 0
            return chain.deposit_base(mint + amount, l2_value=amount, value=value)
        self.owed[chain.chain_id, chain.token] += mint
        self.owed[chain.chain_id, token] += amount
        return chain.deposit(token, amount, mint=mint)

    def withdraw(self, chain: TokenChain, token: Address, amount: int) -> None:
        """Withdraw an asset; more than the chain has is a lie."""
        is_base = token == chain.token
        lie = chain.withdraw_base(amount) if is_base else chain.withdraw(token, amount)
        if amount <= self.owed[chain.chain_id, token]:
            chain.claim(lie)
            self.owed[chain.chain_id, token] -= amount
            return
        with pytest.raises(Reverted, match="InsufficientChainBalance"):
            chain.claim(lie)

    def fail(self, chain: TokenChain, token: Address, amount: int) -> None:
        """Deposit, fail on L2, and recover."""
        tx_hash = self.deposit(chain, token, amount)
        if token == chain.token:
            return
        chain.recover(chain.failure(token, amount, tx_hash))
        self.owed[chain.chain_id, token] -= amount

    def set_ratio(self, chain: TokenChain, amount: int) -> None:
        """Change the price of ether, if that is not the base token."""
        if chain.token != ETH_TOKEN:
            ratio = (1 + amount % 5000, 1 + amount % 7)
            self.l1.engine.send(DEPLOYER, chain.l1.chain, "setTokenMultiplier", *ratio)

    def check(self) -> None:
        engine, vault = self.l1.engine, self.l1.vault.address
        for chain in self.chains:
            for token in self.addresses.values():
                assert chain.balance(token) == self.owed[chain.chain_id, token]
        for name, token in self.addresses.items():
            due = sum(it for (_, asset), it in self.owed.items() if asset == token)
            is_ether = name == "ether"
            assert (
                engine.balance(vault) if is_ether else held(self.l1, self.tokens[name], vault)
            ) == due


@settings(max_examples=examples(20))
@given(st.lists(STEPS, max_size=8))
def test_the_books_of_every_chain_and_asset_agree_with_what_the_vault_has(
    steps: list[tuple[str, int, str, int]],
) -> None:
    ecosystem = Ecosystem()
    for action, place, asset, amount in steps:
        chain, token = ecosystem.chains[place], ecosystem.addresses[asset]
        if action == "deposit":
            ecosystem.deposit(chain, token, amount)
        elif action == "withdraw":
            ecosystem.withdraw(chain, token, amount)
        elif action == "fail":
            ecosystem.fail(chain, token, amount)
        else:
            ecosystem.set_ratio(chain, amount)
        ecosystem.check()
