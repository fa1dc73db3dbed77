"""Attacks on the books of bundles: by users of an honest chain, by a chain that lies, and by what they encode."""

from __future__ import annotations

from dataclasses import replace

import pytest
from eth_abi import abi

from entresol._native import keccak256
from entresol.primitives.l2_to_l1_logs import L2ToL1Log
from entresol.primitives.values import Address, Hash32
from tests.support.contracts.batches import Batch, execute_data
from tests.support.contracts.bundles import (
    FINALIZE,
    Call,
    PlainBundle,
    asset_call,
    described,
    mint_of,
)
from tests.support.contracts.engine import ETHER, L1_CHAIN_ID, NOW, Contract, Reverted, alias, find
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
)
from tests.support.contracts.merkle_trees import message_log, proof_of, root_of
from tests.support.contracts.requests import asset_message, claim, deposit_ether, finalize

ETHER_ID = asset_id(ETH_TOKEN)
L2_TOKEN = Address(b"\x77" * 20)
CAROL = Address(b"\xca" * 20)
THIRD_CHAIN_ID = 272
LARGEST_TRANSACTION = 16_777_216
MOST_BYTES = 120_000
"""Of bundles in a batch."""
MOST = 2**256 - 1


class Books:
    """Three chains on one L1, of which the first holds an ether."""

    def __init__(self, l1: Deployed) -> None:
        self.l1 = l1
        self.zoo = l1.token()
        l1.engine.send(BOB, l1.vault, "ensureTokenIsRegistered", self.zoo.address)
        self.chains = {
            CHAIN_ID: l1.chain,
            OTHER_CHAIN_ID: l1.add_chain(),
            THIRD_CHAIN_ID: l1.add_chain(THIRD_CHAIN_ID, self.zoo.address),
        }
        deposit_ether(l1, ETHER)

    def settle(self, *bundles: PlainBundle, logs: tuple[L2ToL1Log, ...] = ()) -> int:
        """Execute a batch with these bundles of one chain, add its root, and return the gas of that."""
        all_logs = (*logs, *(bundle.log() for bundle in bundles))
        return self.add(
            bundles[0].source if bundles else CHAIN_ID,
            all_logs,
            [bundle.message() for bundle in bundles],
        )

    def add(self, source: int, logs: tuple[L2ToL1Log, ...], messages: list[bytes]) -> int:
        """Execute a batch with these logs, and add its root with these messages."""
        engine = self.l1.engine
        number = self.l1.settle(*logs, chain=self.chains[source])
        packed = b"".join(log.pack() for log in logs)
        engine.gas_limit = LARGEST_TRANSACTION
        engine.send(BOB, self.l1.message_root, "settle", source, number, packed, messages)
        assert engine.last is not None
        return engine.last.gas_used

    @property
    def left_out(self) -> list[str]:
        return [rejection.error for rejection in self.l1.left_out().values()]

    def balance(self, chain_id: int, asset: Hash32) -> int:
        return int(self.l1.engine.read(self.l1.vault, "chainBalance", chain_id, asset))

    def withdraw(self, chain_id: int, asset: Hash32, token: Address, amount: int) -> None:
        mint = mint_of(token, amount, described(CHAIN_ID), ALICE)
        message, chain = asset_message(asset, mint, chain_id), self.chains[chain_id]
        finalize(self.l1, claim(self.l1, message, L2_ASSET_ROUTER, chain, chain_id=chain_id))


@pytest.fixture
def books(l1: Deployed) -> Books:
    """Return three chains, the last of which is paid in a token."""
    return Books(l1)


def transfer(amount: int, token: Address = L2_TOKEN, *, source: int = CHAIN_ID) -> Call:
    return asset_call(
        asset_id(token, CHAIN_ID), mint_of(token, amount, described(CHAIN_ID)), source
    )


def largest_batch(calls: int, value: int = 0) -> tuple[list[PlainBundle], tuple[L2ToL1Log, ...]]:
    """Return all bundles with new tokens that fit into a batch, and as many other logs as there can be.

    Of a token the least is said that a router says: none is described.
    """
    bundles: list[PlainBundle] = []
    left, attributes = MOST_BYTES, (b"", bytes.fromhex("000100000014") + ALICE, False)
    while left >= 0:
        first = 1 + calls * len(bundles)
        tokens = (Address(number.to_bytes(20)) for number in range(first, first + calls))
        made = [asset_call(asset_id(token, CHAIN_ID), mint_of(token, 1)) for token in tokens]
        made[-1] = replace(made[-1], value=value)
        bundles.append(replace(bundle(*made), attributes=attributes))
        left -= len(bundles[-1].message())
    bundles.pop()
    return bundles, tuple(message_log(it, BOB, b"") for it in range(1024 - len(bundles)))


def bundle(*calls: Call, source: int = CHAIN_ID, destination: int = OTHER_CHAIN_ID) -> PlainBundle:
    return PlainBundle(calls=calls, base_token=ETHER_ID, source=source, destination=destination)


# --- What users of an honest chain can put into its batches ---


@pytest.mark.parametrize("calls", [1, 8, 64])
def test_a_batch_with_all_new_tokens_that_fit_and_as_many_logs_as_can_be_is_booked(
    books: Books, calls: int
) -> None:
    bundles, logs = largest_batch(calls)
    assert books.settle(*bundles, logs=logs) < LARGEST_TRANSACTION - 2_000_000


def test_a_batch_with_256_kilobytes_of_messages_is_booked(books: Books) -> None:
    call = Call(to=BOB, sender=ALICE, data=b"\xff" * 84_000)
    bundles = [replace(bundle(call), salt=bytes([number]) * 32) for number in range(3)]
    assert books.settle(*bundles) < LARGEST_TRANSACTION


@pytest.mark.parametrize("calls", [1, 64])
def test_a_batch_that_books_as_much_as_can_be_and_leaves_all_of_it_out_is_added(
    books: Books, calls: int
) -> None:
    bundles, logs = largest_batch(calls, value=2 * ETHER)
    assert books.settle(*bundles, logs=logs) < LARGEST_TRANSACTION - 1_000_000
    assert len(books.l1.left_out()) == len(bundles)


def test_a_token_with_an_endless_supply_burns_no_bundle_of_others(books: Books) -> None:
    """The largest amounts there and back: the books of the chain that they visit end as they began."""
    largest = 2**128 - 1
    books.settle(bundle(transfer(largest), transfer(largest)))
    books.settle(bundle(transfer(largest)))
    there = {"source": OTHER_CHAIN_ID, "destination": CHAIN_ID}
    back = transfer(largest, source=OTHER_CHAIN_ID)
    books.settle(bundle(back, back, **there))
    victim = bundle(Call(to=BOB, sender=ALICE, value=ETHER))
    books.settle(victim)
    one = bundle(transfer(1, source=OTHER_CHAIN_ID), **there)
    returned = bundle(Call(to=BOB, sender=ALICE, value=ETHER), **there)
    books.settle(one, bundle(back, **there), one, returned)
    # What is more than was sent is left out, and nothing else.
    assert list(books.l1.left_out()) == [1]
    assert books.balance(OTHER_CHAIN_ID, asset_id(L2_TOKEN, CHAIN_ID)) == largest - 2
    assert books.balance(CHAIN_ID, ETHER_ID) == ETHER


def test_the_first_withdrawal_of_a_token_that_came_by_a_bundle_deploys_it(books: Books) -> None:
    asset = asset_id(L2_TOKEN, CHAIN_ID)
    books.settle(bundle(transfer(5)))
    engine, vault = books.l1.engine, books.l1.vault
    assert engine.read(vault, "tokenAddress", asset) == str(Address.zero())
    books.withdraw(OTHER_CHAIN_ID, asset, L2_TOKEN, 3)
    token = Contract(
        Address.parse(engine.read(vault, "tokenAddress", asset)), find("L1BridgedToken")
    )
    assert engine.read(token, "balanceOf", ALICE) == 3
    assert engine.read(token, "originToken") == str(L2_TOKEN)
    assert engine.read(vault, "originChainId", asset) == CHAIN_ID
    assert books.balance(OTHER_CHAIN_ID, asset) == 2
    with pytest.raises(Reverted, match="InsufficientChainBalance"):
        books.withdraw(OTHER_CHAIN_ID, asset, L2_TOKEN, 3)


def test_the_first_withdrawal_of_a_token_names_it_truly(books: Books) -> None:
    books.settle(bundle(transfer(5)))
    with pytest.raises(Reverted, match="AssetIdNotSupported"):
        books.withdraw(OTHER_CHAIN_ID, asset_id(L2_TOKEN, CHAIN_ID), BOB, 3)


def test_a_chain_that_has_nothing_of_a_token_does_not_name_it_on_l1(books: Books) -> None:
    asset = asset_id(L2_TOKEN, CHAIN_ID)
    books.settle(bundle(transfer(5)))
    with pytest.raises(Reverted, match="EmptyWithdrawal"):
        books.withdraw(THIRD_CHAIN_ID, asset, L2_TOKEN, 0)
    assert books.l1.engine.read(books.l1.vault, "tokenAddress", asset) == str(Address.zero())


# --- A chain that lies ---


def test_a_chain_returns_no_more_of_another_chains_token_than_it_has(books: Books) -> None:
    asset = asset_id(L2_TOKEN, CHAIN_ID)
    books.settle(bundle(transfer(5)))

    def back(amount: int) -> PlainBundle:
        call = transfer(amount, source=OTHER_CHAIN_ID)
        return bundle(call, source=OTHER_CHAIN_ID, destination=CHAIN_ID)

    books.settle(back(6))
    assert books.left_out == ["InteropValueNotCovered"]
    books.settle(back(5))
    assert (books.balance(OTHER_CHAIN_ID, asset), books.balance(CHAIN_ID, asset)) == (0, 0)
    books.settle(back(1))
    assert books.left_out == ["InteropValueNotCovered"]


def test_the_withdrawals_of_a_batch_that_is_not_covered_are_paid(books: Books) -> None:
    lie = bundle(Call(to=BOB, sender=ALICE, value=2 * ETHER))
    message = bytes.fromhex("6c0960f9") + CAROL + (5).to_bytes(32)
    logs = (message_log(0, L2_BASE_TOKEN, message), lie.log())
    books.add(CHAIN_ID, logs, [lie.message()])
    assert books.left_out == ["InteropValueNotCovered"]
    claim = (CHAIN_ID, 1, 0, L2_BASE_TOKEN, 0, message, proof_of(logs, 0))
    books.l1.engine.send(OPERATOR, books.l1.nullifier, "finalizeDeposit", claim)
    assert books.l1.engine.balance(CAROL) == 5


def test_the_value_of_a_call_is_of_the_destinations_base_token(books: Books) -> None:
    zoo = asset_id(books.zoo.address)
    lie = replace(
        bundle(Call(to=BOB, sender=ALICE, value=1), destination=THIRD_CHAIN_ID), base_token=zoo
    )
    books.settle(lie)
    (reason,) = books.l1.left_out().values()
    assert str(reason) == f"InteropValueNotCovered({CHAIN_ID}, 1, {bytes(zoo)!r}, 1)"


@pytest.mark.parametrize("changed", [(0, 1), (1, 0)], ids=["shard", "no service"])
def test_a_log_of_a_bundle_counts_whatever_its_first_bytes_are(
    books: Books, changed: tuple[int, int]
) -> None:
    lie = bundle(Call(to=BOB, sender=ALICE, value=2 * ETHER))
    packed = bytes([1 - changed[1], changed[1]]) + lie.log().pack()[2:]

    class Raw:
        def pack(self) -> bytes:
            return packed

    books.add(CHAIN_ID, (Raw(),), [lie.message()])  # type: ignore[arg-type]
    assert books.left_out == ["InteropValueNotCovered"]


@pytest.mark.parametrize(
    "data",
    [
        FINALIZE,
        FINALIZE + bytes(95),
        FINALIZE + abi.encode(["uint256", "bytes32", "bytes"], [CHAIN_ID, ETHER_ID, b""]),
        FINALIZE + abi.encode(["uint256", "bytes32", "bytes"], [CHAIN_ID, ETHER_ID, b"\xff" * 160]),
        FINALIZE + CHAIN_ID.to_bytes(32) + ETHER_ID + MOST.to_bytes(32),
    ],
)
def test_an_asset_call_that_cannot_be_read_adds_no_root(books: Books, data: bytes) -> None:
    with pytest.raises(Reverted):
        books.settle(bundle(Call(to=L2_ASSET_ROUTER, sender=L2_ASSET_ROUTER, data=data)))


def test_the_root_of_a_block_is_that_at_its_end_also_if_a_chain_was_added_last(
    l1: Deployed,
) -> None:
    number = l1.settle()
    l1.engine.send(BOB, l1.message_root, "settle", CHAIN_ID, number, b"", [])
    l1.add_chain()
    root = l1.engine.read(l1.message_root, "getAggregatedRoot")
    assert l1.engine.read(l1.message_root, "historicalRoot", 1) == (root, NOW)


def test_a_batch_that_imported_a_thousand_roots_is_executed(l1: Deployed) -> None:
    number = l1.settle()
    l1.engine.send(BOB, l1.message_root, "settle", CHAIN_ID, number, b"", [])
    root = bytes(l1.engine.read(l1.message_root, "getAggregatedRoot"))
    roots = [(L1_CHAIN_ID, 1, NOW, [root])] * 1000
    rolling = bytes(l1.engine.read(l1.message_root, "checkRoots", roots))
    previous = l1.last_batches[l1.chain.address]
    batch = Batch(number=2, logs_root=root_of(()), dependency_roots=rolling)
    for step, data in (
        ("commit", batch.commit_data(previous)),
        ("prove", batch.prove_data(previous)),
        ("execute", execute_data([batch], roots=roots)),
    ):
        arguments = (l1.chain.address, 2, 2, data)
        l1.engine.send(OPERATOR, l1.timelock, f"{step}BatchesSharedBridge", *arguments)
    assert l1.engine.last is not None
    # Here they are all of one block; each of another one reads two slots for the first time.
    assert l1.engine.last.gas_used + 1000 * 2 * 2000 < LARGEST_TRANSACTION


# --- Telling chains of each other ---


def test_anyone_tells_a_chain_of_another_by_a_request_that_nobody_pays(books: Books) -> None:
    l1 = books.l1
    l1.engine.send(BOB, l1.registrar, "registerChain", THIRD_CHAIN_ID, CHAIN_ID)
    event = l1.engine.event(l1.chain, "NewPriorityRequest")
    transaction = event.fields["transaction"]
    call = keccak256(b"registerChainForInterop(uint256,bytes32)")[:4] + abi.encode(
        ["uint256", "bytes32"], [THIRD_CHAIN_ID, asset_id(books.zoo.address)]
    )
    assert transaction[1] == int.from_bytes(alias(l1.registrar.address))
    assert transaction[2] == 0x10002
    assert transaction[3] == 500_000
    assert transaction[5:8] == (0, 0, 0), "the prices and the paymaster"
    assert transaction[9] == 0, "the value"
    assert call in transaction
    assert l1.engine.read(l1.registrar, "isRegistered", THIRD_CHAIN_ID, CHAIN_ID)


def test_a_pair_is_told_once_and_each_direction_by_itself(books: Books) -> None:
    l1 = books.l1
    l1.engine.send(BOB, l1.registrar, "registerChain", OTHER_CHAIN_ID, CHAIN_ID)
    with pytest.raises(Reverted, match="AlreadyRegistered"):
        l1.engine.send(ALICE, l1.registrar, "registerChain", OTHER_CHAIN_ID, CHAIN_ID)
    l1.engine.send(ALICE, l1.registrar, "registerChain", CHAIN_ID, OTHER_CHAIN_ID)


@pytest.mark.parametrize(
    ("pair", "error"),
    [
        ((CHAIN_ID, CHAIN_ID), "InvalidChains"),
        ((L1_CHAIN_ID, CHAIN_ID), "ChainIdNotRegistered"),
        ((CHAIN_ID, L1_CHAIN_ID), "ChainIdNotRegistered"),
        ((999, CHAIN_ID), "ChainIdNotRegistered"),
        ((CHAIN_ID, 999), "ChainIdNotRegistered"),
    ],
)
def test_only_chains_of_this_l1_are_told_of_each_other(
    books: Books, pair: tuple[int, int], error: str
) -> None:
    with pytest.raises(Reverted, match=error):
        books.l1.engine.send(BOB, books.l1.registrar, "registerChain", *pair)


@pytest.mark.parametrize("price", [(3, 1), (1, 3), (2**128 - 1, 1), (1, 2**128 - 1)])
def test_anyone_tells_a_chain_what_calls_cost_at_a_new_price_once(
    books: Books, price: tuple[int, int]
) -> None:
    l1 = books.l1
    l1.engine.send(DEPLOYER, l1.chain, "setTokenMultiplier", *price)
    l1.engine.send(BOB, l1.registrar, "updateInteropFee", CHAIN_ID)
    event = l1.engine.event(l1.chain, "NewPriorityRequest")
    fee = -(-(10**12) * price[0] // price[1])
    transaction = event.fields["transaction"]
    assert transaction[1:3] == (int.from_bytes(alias(l1.registrar.address)), 0x1000D)
    assert keccak256(b"setInteropFee(uint256)")[:4] + fee.to_bytes(32) in transaction
    with pytest.raises(Reverted, match="InteropFeeUnchanged"):
        l1.engine.send(ALICE, l1.registrar, "updateInteropFee", CHAIN_ID)


def test_a_chain_that_is_not_registered_is_told_no_fee(books: Books) -> None:
    with pytest.raises(Reverted, match="ChainIdNotRegistered"):
        books.l1.engine.send(BOB, books.l1.registrar, "updateInteropFee", 999)
