"""Blocks: what becomes of transactions, priority transactions and messages, and the roots over them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256

import msgspec
import pytest
import rlp
from hypothesis import given, settings
from hypothesis import strategies as st
from trie.hexary import HexaryTrie

from entresol._native import Account, Overlay, Rules
from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.chain.rules import ChainRules
from entresol.errors import BlockFull, BlockFullOfMessages, InvalidTransaction
from entresol.execution.block_executor import (
    BEACON_ROOTS,
    CONSOLIDATION_REQUESTS,
    HISTORY_STORAGE,
    SYSTEM_ADDRESS,
    WITHDRAWAL_REQUESTS,
    make_system_calls,
)
from entresol.execution.evm_env import BlockEnv
from entresol.primitives.headers import NO_REQUESTS
from entresol.primitives.l2_to_l1_logs import BOOTLOADER, FAILED, L1_MESSENGER, SUCCEEDED, L2ToL1Log
from entresol.primitives.records import StoredChange, l2_to_l1_logs_of, stored_account
from entresol.primitives.transactions import (
    AccessListTransaction,
    LegacyTransaction,
    PriorityTransaction,
    Transaction,
    sign,
)
from entresol.primitives.values import Address, Hash32
from entresol.storage.store import Store
from tests.support.chain import dev_chain
from tests.support.chain.block_production import (
    BENEFICIARY,
    CHAIN_ID,
    ETHER,
    GWEI,
    Producer,
    call,
    changes_of,
    priority,
    secret,
    sender,
    sums,
)
from tests.support.chain.dev_chain import priority_transaction
from tests.support.chain.records import EMPTY_CODE
from tests.support.contracts.merkle_trees import message_log
from tests.support.evm.assembler import assemble
from tests.support.evm.programs import BEACON_CODE, HISTORY_CODE
from tests.support.fork.running_fork import RunningApi, open_fork, remote_of
from tests.support.hex_data import word
from tests.support.run.examples import examples

ALICE, BOB = sender(1), sender(2)
MAX_WEI = (1 << 256) - 1
REFUND, SOURCE = b"\xef" * 20, b"\xf0" * 20

STORING, REVERTING, LOGGING, SPENDING = (bytes([kind] * 20) for kind in (0xC1, 0xC2, 0xC3, 0xC4))
FOREIGN, CALLING_FOREIGN = b"\xc5" * 20, b"\xc6" * 20
CODES = {
    # Keep the first word of the input in slot 0.
    STORING: assemble("0 calldataload 0 sstore"),
    REVERTING: assemble("1 0 sstore 0 0 revert"),
    # A log with the first two words of the input as topics.
    LOGGING: assemble("0x20 calldataload 0 calldataload 0 0 log2"),
    # Burn all gas.
    SPENDING: assemble("invalid"),
    # What the messenger of an L2 emits: L1MessageSent(caller, keccak(input), input).
    L1_MESSENGER: assemble(
        """
        calldatasize 0 0 calldatacopy
        calldatasize 0 keccak256
        caller
        0x3a36e47291f4201faf137fab081d92295bce2d53be2c6ca68ba82c7faa9ce241
        calldatasize 0 log3
        """
    ),
}


@pytest.fixture
def producer(store: Store) -> Producer:
    """Alice and Bob are rich, and there are some contracts."""
    return Producer(store, balances={ALICE: 100 * ETHER, BOB: 100 * ETHER}, codes=CODES)


def list_root(items: list[bytes]) -> bytes:
    trie = HexaryTrie({})
    for index, item in enumerate(items):
        trie[rlp.encode(index)] = item
    return bytes(trie.root_hash)


def mixed_block() -> list[Transaction]:
    legacy = LegacyTransaction(
        chain_id=CHAIN_ID, nonce=0, gas_price=GWEI, gas_limit=90_000, to=Address(LOGGING), data=word(1)
    )  # fmt: skip
    listed = AccessListTransaction(
        chain_id=CHAIN_ID, nonce=1, gas_price=GWEI, gas_limit=90_000, to=Address(STORING), data=word(2)
    )  # fmt: skip
    return [
        priority(LOGGING, data=word(7)),
        sign(legacy, secret(1)),
        sign(listed, secret(1)),
        call(2, 0, REVERTING),
        call(2, 1, LOGGING, data=word(5) + word(6)),
        call(1, 2, BOB, value=ETHER),
    ]


def test_transactions_and_receipts_roots_are_those_of_their_lists(producer: Producer) -> None:
    executed = producer.seal(*mixed_block())
    receipts = [receipt.encode() for receipt in executed.record.receipts()]
    raws = [transaction.raw for transaction in mixed_block()]
    assert executed.header.transactions_root == list_root(raws)
    assert executed.header.receipts_root == list_root(receipts)


def test_the_environment_comes_back_from_the_header(producer: Producer) -> None:
    executor = producer.begin()
    header = producer.finish(executor).header
    assert BlockEnv.of(header) == executor.env


@pytest.mark.parametrize(
    "transaction",
    [
        call(1, 5, BOB),
        call(1, 0, BOB, value=1000 * ETHER),
        call(1, 0, BOB, gas_limit=20_000),
        call(3, 0, BOB),
    ],
)
def test_an_invalid_transaction_leaves_the_block_as_it_was(
    producer: Producer, transaction: Transaction
) -> None:
    executor = producer.begin()
    executor.run(call(1, 0, BOB, value=1))
    before = (executor.gas_used, tuple(executor.results), changes_of(executor.overlay))
    with pytest.raises(InvalidTransaction):
        executor.run(transaction)
    after = (executor.gas_used, tuple(executor.results), changes_of(executor.overlay))
    assert after == before
    assert len(executor.transactions) == 1
    executor.run(call(1, 1, BOB, value=1))
    assert len(producer.finish(executor).record.transactions) == 2


def test_a_transaction_that_does_not_fit_leaves_the_block_as_it_was(store: Store) -> None:
    producer = Producer(store, balances={ALICE: ETHER}, gas_limit=50_000)
    executor = producer.begin()
    executor.run(call(1, 0, BOB, gas_limit=21_000))
    assert executor.gas_left == 29_000
    before = changes_of(executor.overlay)
    with pytest.raises(BlockFull, match="has 29000 gas left, the transaction needs 30000"):
        executor.run(call(1, 1, BOB, gas_limit=30_000))
    assert (executor.gas_left, changes_of(executor.overlay)) == (29_000, before)
    executor.run(call(1, 1, BOB, gas_limit=29_000))


def test_a_deposit_mints(producer: Producer) -> None:
    executed = producer.seal(priority(BOB, value=ETHER, to_mint=2 * ETHER))
    (result,) = executed.record.results
    fee = result.gas_used * GWEI
    assert result.succeeded
    assert producer.balance(BOB) == 101 * ETHER
    assert producer.balance(BENEFICIARY) == fee
    assert producer.balance(REFUND) == ETHER - fee
    assert producer.balance(SOURCE) == 0


@pytest.mark.parametrize("to", [REVERTING, SPENDING])
def test_a_failed_deposit_goes_to_the_refund_recipient(producer: Producer, to: bytes) -> None:
    (result,) = producer.seal(priority(to, value=ETHER, to_mint=2 * ETHER)).record.results
    fee = result.gas_used * GWEI
    assert not result.succeeded
    assert producer.balance(REFUND) == 2 * ETHER - fee
    assert producer.balance(BENEFICIARY) == fee
    assert producer.balance(to) == producer.balance(SOURCE) == 0


@pytest.mark.parametrize("to", [FOREIGN, CALLING_FOREIGN])
def test_a_deposit_that_calls_eravm_code_fails_and_does_not_hold_up_the_next(
    store: Store, to: bytes
) -> None:
    codes = {FOREIGN: bytes(32), CALLING_FOREIGN: assemble(f"0 0 0 0 0 0x{FOREIGN.hex()} gas call")}
    producer = Producer(store, codes=codes)
    producer.rules = Rules(CHAIN_ID, rejects_foreign_code=True)
    deposits = [priority(to, value=1, to_mint=2 * ETHER), priority(BOB, value=1, nonce=1)]
    failed, deposited = producer.seal(*deposits).record.results
    assert (failed.succeeded, deposited.succeeded) == (False, True)
    assert producer.balance(to) == 0


@pytest.mark.parametrize("to", [BOB, REVERTING])
def test_the_nonce_of_the_l1_sender_stays(producer: Producer, to: bytes) -> None:
    producer.seal(priority(to, source=ALICE, nonce=77))
    assert producer.nonce(ALICE) == 0
    producer.seal(call(1, 0, BOB))


def test_too_little_gas_to_start_uses_all_of_it(producer: Producer) -> None:
    executed = producer.seal(priority(BOB, value=ETHER, to_mint=2 * ETHER, gas_limit=20_000))
    (result,) = executed.record.results
    fee = 20_000 * GWEI
    assert (result.succeeded, result.gas_used) == (False, 20_000)
    assert producer.balance(REFUND) == 2 * ETHER - fee
    assert producer.balance(BOB) == 100 * ETHER
    (status,) = l2_to_l1_logs_of(result)
    assert status.value == FAILED


def test_what_l1_did_not_pay_for_is_not_minted(producer: Producer) -> None:
    executed = producer.seal(priority(BOB, value=2 * ETHER, to_mint=ETHER))
    assert not executed.record.results[0].succeeded
    assert producer.balance(BOB) == 100 * ETHER
    assert sums(executed.overlay.changes()) == ETHER


@pytest.mark.parametrize(
    ("value", "price", "succeeds"),
    [
        (0, GWEI, True),
        (MAX_WEI // 2, GWEI, True),
        (MAX_WEI - ETHER, GWEI, False),
        (0, 1 << 130, False),
    ],
    ids=["minted", "with a value", "value beyond a balance", "price beyond the engine"],
)
def test_no_amount_that_l1_can_write_down_stops_the_chain(
    producer: Producer, value: int, price: int, succeeds: bool
) -> None:
    payload = priority_transaction(
        0,
        sender=Address(SOURCE),
        to=BOB,
        gas_limit=90_000,
        fee=price,
        value=value,
        to_mint=MAX_WEI,
        refund_recipient=ALICE,
    )
    (result,) = producer.seal(Transaction.from_l1(payload)).record.results
    assert result.succeeded is succeeds
    assert len(result.l2_to_l1_logs) == 1
    assert 100 * ETHER < producer.balance(ALICE) <= MAX_WEI


def test_a_priority_transaction_larger_than_a_block_has_one_of_its_own(store: Store) -> None:
    producer = Producer(store, gas_limit=100_000)
    large = priority(BOB, gas_limit=200_000)
    executor = producer.begin()
    executor.run(large)
    with pytest.raises(BlockFull):
        executor.run(priority(BOB, gas_limit=200_000, nonce=1))
    assert producer.finish(executor).record.results[0].succeeded


@pytest.mark.parametrize(("to", "value"), [(BOB, SUCCEEDED), (REVERTING, FAILED)])
def test_a_priority_transaction_has_one_status(producer: Producer, to: bytes, value: bytes) -> None:
    transaction = priority(to)
    executed = producer.seal(call(1, 0, BOB), transaction)
    (status,) = l2_to_l1_logs_of(executed.record.results[1])
    expected = L2ToL1Log.of_status(1, transaction.hash, succeeded=value == SUCCEEDED)
    assert status == expected
    assert (status.sender, status.tx_number, status.value) == (BOOTLOADER, 1, value)
    assert executed.record.results[0].l2_to_l1_logs == ()


addresses = st.sampled_from([ALICE, BOB, BENEFICIARY, Address(REFUND), Address(SOURCE)])


@settings(max_examples=examples(60))
@given(
    st.lists(
        st.builds(
            priority,
            st.sampled_from([BOB, *CODES]),
            value=st.integers(0, ETHER),
            to_mint=st.integers(0, 2 * ETHER),
            gas_limit=st.sampled_from([0, 20_000, 21_000, 60_000, 200_000]),
            fee=st.sampled_from([0, 1, GWEI, 10_000 * GWEI]),
            data=st.sampled_from([b"", word(3)]),
            refund_recipient=addresses,
            source=addresses,
        ),
        min_size=1,
        max_size=4,
    )
)
def test_only_l1_mints(transactions: list[Transaction]) -> None:
    store = Store.temporary()
    executed = Producer(store, codes=CODES).seal(*transactions)
    payloads = (it.payload for it in transactions)
    minted = sum(
        payload.to_mint for payload in payloads if isinstance(payload, PriorityTransaction)
    )
    store.close()
    assert sums(executed.overlay.changes()) == minted
    for transaction, result in zip(transactions, executed.record.results, strict=True):
        statuses = [log for log in l2_to_l1_logs_of(result) if log.sender == BOOTLOADER]
        assert [log.key for log in statuses] == [transaction.hash]


def test_messages_come_in_order_with_caller_and_hash(producer: Producer) -> None:
    executed = producer.seal(
        call(1, 0, L1_MESSENGER, data=b"one"),
        call(2, 0, STORING),
        call(2, 1, L1_MESSENGER, data=b"two"),
    )
    first, none, second = (list(l2_to_l1_logs_of(result)) for result in executed.record.results)
    assert first == [message_log(0, ALICE, b"one")]
    assert none == []
    assert second == [message_log(2, BOB, b"two")]


def test_the_status_comes_after_the_messages(producer: Producer) -> None:
    transaction = priority(L1_MESSENGER, data=b"hello")
    (result,) = producer.seal(transaction).record.results
    assert list(l2_to_l1_logs_of(result)) == [
        message_log(0, Address(SOURCE), b"hello"),
        L2ToL1Log.of_status(0, transaction.hash, succeeded=True),
    ]


def test_only_the_messenger_sends_messages(store: Store) -> None:
    imposter = b"\x99" * 20
    producer = Producer(store, balances={ALICE: ETHER}, codes={imposter: CODES[L1_MESSENGER]})
    (result,) = producer.seal(call(1, 0, imposter, data=b"one")).record.results
    assert len(result.logs) == 1
    assert result.l2_to_l1_logs == ()


@pytest.mark.parametrize(
    "last",
    [call(2, 0, L1_MESSENGER), priority(L1_MESSENGER), priority(BOB), priority(REVERTING)],
    ids=["a message", "a message from L1", "a status", "the status of a failure"],
)
def test_a_block_has_no_more_messages_than_a_batch(
    producer: Producer, monkeypatch: pytest.MonkeyPatch, last: Transaction
) -> None:
    monkeypatch.setattr("entresol.execution.limits.MAX_LOGS_PER_BATCH", 2)
    block = producer.begin()
    block.run(call(1, 0, L1_MESSENGER))
    block.run(call(1, 1, L1_MESSENGER))
    with pytest.raises(BlockFullOfMessages, match=r"would have \d messages"):
        block.run(last)
    block.run(call(1, 2, STORING))
    producer.finish(block)
    assert producer.nonce(BOB) == 0
    following = producer.seal(last).record.results
    assert [len(result.l2_to_l1_logs) > 0 for result in following] == [True]


def test_a_transaction_whose_messages_fit_into_no_batch_is_invalid(
    producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("entresol.execution.limits.MAX_LOGS_PER_BATCH", 0)
    block = producer.begin()
    with pytest.raises(InvalidTransaction, match="sends 1 messages to L1"):
        block.run(call(1, 0, L1_MESSENGER))
    producer.finish(block)
    assert producer.nonce(ALICE) == 0


def test_an_edit_comes_before_the_transactions(producer: Producer) -> None:
    rich = StoredChange(sender(7), stored_account(Account(3, ETHER, EMPTY_CODE)))
    executed = producer.seal(call(7, 3, BOB, value=1), edits=[rich])
    assert executed.record.results[0].succeeded
    assert executed.record.edits == (rich,)
    assert producer.nonce(sender(7)) == 4


def test_edits_add_up(producer: Producer) -> None:
    first = StoredChange(sender(7), stored_account(Account(0, 1, EMPTY_CODE)))
    second = StoredChange(sender(8), stored_account(Account(0, 2, EMPTY_CODE)))
    executor = producer.begin()
    executor.edit([first], [])
    executor.edit([second], [])
    assert producer.finish(executor).record.edits == (first, second)
    assert (producer.balance(sender(7)), producer.balance(sender(8))) == (1, 2)


# Collects a word from anybody, and returns it once to the system, as the contracts do with more.
COLLECTOR = assemble(
    f"caller {SYSTEM_ADDRESS} eq @system jumpi 0 calldataload 0 sstore stop "
    "system: 0 sload dup1 0 mstore 0 0 sstore iszero @none jumpi 32 0 return none: stop"
)


def rules_of(fork: str) -> ChainRules:
    return msgspec.structs.replace(ChainRules.layer_1(270), fork=fork)


def genesis_with(code: bytes) -> Genesis:
    contract = GenesisAccount(code=code, nonce=1)
    contracts = dict.fromkeys((WITHDRAWAL_REQUESTS, CONSOLIDATION_REQUESTS), contract)
    return Genesis.development(270, [dev_chain.ALICE], 10**20, contracts)


def open_chain(fork: str = "prague", code: bytes = COLLECTOR) -> Chain:
    clock = Clock(lambda: 1_000.0)
    return Chain.open(None, rules_of(fork), genesis_with(code), clock=clock)


@pytest.fixture
def chain() -> Iterator[Chain]:
    found = open_chain()
    found.schedule.seal_on_request()
    yield found
    found.close()


def request(chain: Chain, nonce: int, to: Address, word: int) -> None:
    sent = dev_chain.transaction(nonce, to=to, data=word.to_bytes(32), tip=10**9)
    chain.add(sent)


def hash_of(*requests: bytes) -> Hash32:
    return Hash32(sha256(b"".join(sha256(it).digest() for it in requests)).digest())


def test_requests_are_in_the_hash_of_their_block_and_of_no_other(chain: Chain) -> None:
    chain.builder.seal()
    assert chain.head.requests_hash == NO_REQUESTS
    request(chain, 0, CONSOLIDATION_REQUESTS, 5)
    request(chain, 1, WITHDRAWAL_REQUESTS, 7)
    chain.builder.seal()
    assert [result.succeeded for result in chain.blocks.record(2).results] == [True, True]
    words = [kind + word.to_bytes(32) for kind, word in ((b"\1", 7), (b"\2", 5))]
    assert chain.head.requests_hash == hash_of(*words)
    assert chain.latest.slot(WITHDRAWAL_REQUESTS, bytes(32)) == bytes(32)
    chain.builder.seal()
    assert chain.head.requests_hash == NO_REQUESTS
    chain.verify()


def test_a_pending_block_keeps_its_requests_for_the_one_that_is_sealed(chain: Chain) -> None:
    request(chain, 0, WITHDRAWAL_REQUESTS, 7)
    pending = chain.builder.pending()
    first, second = (pending.finish(chain.ledger.trie) for _ in range(2))
    chain.builder.seal()
    expected = hash_of(b"\1" + (7).to_bytes(32))
    assert {it.header.requests_hash for it in (first, second)} == {expected}
    assert chain.head.requests_hash == expected


@pytest.mark.parametrize("code", [b"", assemble("0 0 revert")])
def test_without_a_contract_that_responds_there_are_no_requests(code: bytes) -> None:
    chain = open_chain(code=code)
    chain.builder.seal()
    assert chain.head.requests_hash == NO_REQUESTS
    chain.close()


def test_before_prague_nothing_is_called() -> None:
    chain = open_chain("cancun", assemble("1 0 sstore"))
    chain.builder.seal()
    assert chain.head.requests_hash is None
    assert chain.latest.slot(WITHDRAWAL_REQUESTS, bytes(32)) == bytes(32)
    chain.close()


def test_a_fork_does_not_take_the_requests_of_its_remote() -> None:
    chain = open_fork(remote_of(genesis_with(assemble("32 0 return"))), rules_of("prague"))
    with closing(chain), closing(RunningApi(chain)) as api:
        assert api("eth_getCode", str(WITHDRAWAL_REQUESTS), "latest") != "0x"
        api("evm_mine")
        assert chain.head.requests_hash == NO_REQUESTS


# Stores what it is called with in slot 7.
RECORDER = assemble("0 calldataload 7 sstore")


def open_layer_one(
    fork: str, code: bytes = HISTORY_CODE, beacon: bytes = assemble("number 3 sstore")
) -> Chain:
    contracts = {
        HISTORY_STORAGE: GenesisAccount(code=code, nonce=1),
        BEACON_ROOTS: GenesisAccount(code=beacon, nonce=1),
    }
    rules = msgspec.structs.replace(ChainRules.layer_1(), fork=fork)
    genesis = Genesis.development(31337, [Address(b"\1" * 20)], 10**18, contracts)
    return Chain.open(None, rules, genesis, clock=Clock(lambda: 1_000.0))


@pytest.fixture
def layer_one() -> Iterator[Chain]:
    layer_one = open_layer_one("prague")
    yield layer_one
    layer_one.close()


def slot(layer_one: Chain, address: Address, number: int) -> int:
    return int.from_bytes(layer_one.latest.slot(address, number.to_bytes(32)))


def test_the_hash_of_each_parent_is_stored(layer_one: Chain) -> None:
    for _ in range(3):
        layer_one.builder.seal()
    for number in range(3):
        stored = layer_one.latest.slot(HISTORY_STORAGE, number.to_bytes(32))
        assert stored == layer_one.blocks.block_hash(number)


def test_a_system_call_leaves_no_trace_of_its_sender(layer_one: Chain) -> None:
    layer_one.builder.seal()
    assert layer_one.latest.account(SYSTEM_ADDRESS) is None
    record = layer_one.blocks.record(1)
    assert {change.address for change in record.changes} == {HISTORY_STORAGE, BEACON_ROOTS}
    assert record.header().gas_used == 0


def test_the_call_is_in_the_pending_block(layer_one: Chain) -> None:
    head = layer_one.ledger.head_hash
    assert layer_one.builder.pending().overlay.slot(HISTORY_STORAGE, bytes(32)) == head
    assert slot(layer_one, HISTORY_STORAGE, 0) == 0


@pytest.mark.parametrize(
    ("fork", "history", "beacon"), [("shanghai", 0, 0), ("cancun", 0, 1), ("prague", 1, 1)]
)
def test_each_fork_makes_its_calls(fork: str, history: int, beacon: int) -> None:
    layer_one = open_layer_one(fork, RECORDER)
    layer_one.builder.seal()
    parent = int.from_bytes(layer_one.blocks.block_hash(0) or b"")
    assert slot(layer_one, HISTORY_STORAGE, 7) == history * parent
    assert slot(layer_one, BEACON_ROOTS, 3) == beacon
    layer_one.close()


def test_a_contract_that_reverts_does_not_stop_the_block() -> None:
    layer_one = open_layer_one("prague", assemble("0 0 revert"))
    layer_one.builder.seal()
    assert layer_one.number == 1
    layer_one.close()


@pytest.mark.parametrize("root", [Hash32.zero(), Hash32(b"\5" * 32)])
@pytest.mark.parametrize("number", [1, 8_191, 8_192, 20_000_000])
def test_what_is_written_is_what_the_contracts_would_write(number: int, root: Hash32) -> None:
    """A copy that ends in one more byte has another hash, so it is called."""
    found = []
    for suffix in (b"", b"\0"):
        layer_one = open_layer_one("prague", HISTORY_CODE + suffix, BEACON_CODE + suffix)
        env = layer_one.ledger.next_block_env(1_700_000_000 + number)
        fields = msgspec.structs.replace(env.fork_fields, parent_beacon_block_root=root)
        env = msgspec.structs.replace(env, number=number, fork_fields=fields)
        overlay = Overlay(layer_one.ledger.latest)
        make_system_calls(overlay, layer_one.rules.evm_rules(), env, Hash32(b"\7" * 32))
        found.append({account.address: account.storage for account in overlay.changes().accounts})
        layer_one.close()
    assert found[0] == found[1]
    assert found[0].keys() == {HISTORY_STORAGE, BEACON_ROOTS}
