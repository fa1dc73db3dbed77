"""Batches, their settlement and their proofs, over JSON-RPC."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from entresol.chain.base_fee import L2BaseFee
from entresol.chain.fees import FeeModel
from entresol.offload import Offload
from entresol.primitives.batches import DataScheme, SettlementStep, SettlementTransaction
from entresol.primitives.interop_roots import ROOT_STORAGE
from entresol.primitives.transactions.system import SYSTEM_SENDER
from entresol.primitives.values import Hash32
from entresol.rollup.batcher import Batcher
from entresol.rollup.batches import SealingPolicy, stored_info_of
from entresol.rollup.interop.interop_prover import InteropProver
from entresol.rollup.log_prover import QUICK_LOGS, LogProver
from entresol.rpc.jsonrpc.codec import encode
from entresol.rpc.namespaces.zks.batches import ZksBatches
from entresol.rpc.namespaces.zks.merkle_proofs import ZksProofs
from entresol.rpc.namespaces.zks.transactions import ZksTransactions
from entresol.rpc.services.batch_status import BatchStatus
from entresol.rpc.services.rendered_chain import PendingTransactions, RenderedChain
from entresol.rpc.threads.client_threads import LoopThreads
from entresol.sequencer.account_validations import AccountValidations
from entresol.sequencer.sequencer import InlineSequencer
from entresol.sequencer.submission import Submission
from entresol.storage.root_table import BatchPath, RootCursor
from tests.support.chain.block_production import sender
from tests.support.chain.dev_chain import ROOT_CONTRACT, roots
from tests.support.chain.steering import revert
from tests.support.coroutines import completed
from tests.support.rollup.settling_chain import CHAIN_ID, USER, SettlingChain
from tests.support.rpc_client import NamespaceClient, RpcError

L1_CHAIN_ID = 31337
TRANSACTIONS = {step: Hash32(bytes([step + 1]) * 32) for step in SettlementStep}


class Rollup(NamespaceClient):
    """A chain with batches that are sealed and settled when the test says so."""

    max_bytes = 10_000

    def __init__(self) -> None:
        self.fees = FeeModel()
        self.chain = SettlingChain.begin(fees=L2BaseFee(self.fees))
        self.batcher = Batcher(
            self.chain.blocks, self.chain.batches, SealingPolicy(max_age=10.0**9)
        )
        settling, blocks = BatchStatus(self.chain, L1_CHAIN_ID), self.chain.blocks
        pending = PendingTransactions(self.chain.pool, self.chain.filler.priority)
        rendered = RenderedChain(CHAIN_ID, blocks, pending, lambda: pytest.fail("not asked"))
        executor, prover = ThreadPoolExecutor(1), LogProver(blocks, self.chain.batches)
        validations = AccountValidations(self.chain, executor)
        super().__init__(
            ZksBatches(
                self.chain,
                settling,
                self.fees,
                lambda batch: stored_info_of(batch, CHAIN_ID).commitment,
            ),
            ZksProofs(
                blocks,
                self.chain.batches,
                self.chain.state_trie,
                prover,
                InteropProver(prover, self.chain.batches),
            ),
            ZksTransactions(
                self.chain,
                settling,
                pending,
                rendered,
                Submission(
                    self.chain, InlineSequencer(self.chain), executor, validations=validations
                ),
                self.max_bytes,
                threads=LoopThreads(),
                validations=validations,
            ),
        )

    def seal_batch(self) -> int:
        """Seal a batch of all blocks, and return its number."""
        batch = completed(self.batcher.seal(0.0))
        assert batch is not None
        return batch.number

    def settle(self, batch: int, *steps: SettlementStep) -> None:
        """Note that steps were done on L1."""
        for step in steps:
            by = SettlementTransaction(TRANSACTIONS[step], 7, 1_700_000_000, 100_000 + step)
            self.chain.batches.settle([batch], step, by)


@pytest.fixture
def rollup() -> Iterator[Rollup]:
    rollup = Rollup()
    yield rollup
    rollup.close()
    rollup.chain.close()


def message_hash(message: int) -> str:
    """Return what the messenger of the test chain says is the hash of a message: the word itself."""
    return "0x" + message.to_bytes(32).hex()


def test_a_block_that_is_in_no_batch_yet_names_the_next_one(rollup: Rollup) -> None:
    rollup.chain.seal_messages(1)
    details = rollup("zks_getBlockDetails", 1)
    assert (details["l1BatchNumber"], details["status"]) == (1, "sealed")
    assert details["rootHash"] == str(rollup.chain.head.hash())
    assert details["commitTxHash"] is details["executedAt"] is details["commitChainId"] is None


def test_the_commitment_of_a_batch_is_reported_once_it_is_on_l1(rollup: Rollup) -> None:
    rollup.chain.seal_messages(1)
    batch = rollup.seal_batch()
    assert rollup("zks_getL1BatchDetails", batch)["commitment"] is None
    rollup.settle(batch, SettlementStep.COMMIT)
    expected = stored_info_of(rollup.batcher.last, CHAIN_ID).commitment
    assert rollup("zks_getL1BatchDetails", batch)["commitment"] == str(expected)


def test_a_batch_says_what_l1_took_for_each_step_of_it(rollup: Rollup) -> None:
    rollup.chain.seal_messages(1)
    batch = rollup.seal_batch()
    rollup.settle(batch, SettlementStep.COMMIT, SettlementStep.PROVE)
    details = rollup("zks_getL1BatchDetails", batch)
    assert (details["commitGasUsed"], details["proveGasUsed"]) == (100_000, 100_001)
    assert details["executeGasUsed"] is None
    before = SettlementTransaction(TRANSACTIONS[SettlementStep.COMMIT], 7, 1_700_000_000)
    rollup.chain.batches.update_settlement([batch], SettlementStep.COMMIT, before)
    assert rollup("zks_getL1BatchDetails", batch)["commitGasUsed"] is None


@pytest.mark.parametrize(
    ("scheme", "data", "name"),
    [(DataScheme.NONE, b"", "none"), (DataScheme.CALLDATA, b"published", "calldata")],
)
def test_a_batch_says_where_its_data_is_and_how_much_it_publishes(
    rollup: Rollup, scheme: DataScheme, data: bytes, name: str
) -> None:
    rollup.chain.seal_messages(1)
    table, sealed = rollup.chain.batches, rollup.batcher.last
    block = msgspec.structs.replace(
        sealed, number=1, first_block=1, last_block=1, data_scheme=scheme, data_size=len(data)
    )
    table.append(block, b"", [0], data)
    details = rollup("zks_getL1BatchDetails", 1)
    assert (details["dataAvailability"], details["pubdataBytes"]) == (name, len(data))


def test_the_commitment_of_the_first_batch_is_the_one_that_the_chain_is_registered_with(
    rollup: Rollup,
) -> None:
    assert rollup("zks_getL1BatchDetails", 0)["commitment"] == "0x" + "00" * 31 + "01"


def test_prices_in_details_are_those_that_the_block_was_made_with(rollup: Rollup) -> None:
    for l1_gas_price in (5, 7, 7, 11):
        rollup.fees.observe(l1_gas_price * 10**9)
        rollup.chain.seal_messages(l1_gas_price)
        rollup.seal_batch()
    rollup.fees.observe(10**12)
    blocks = [rollup("zks_getBlockDetails", number) for number in range(1, 5)]
    batches = [rollup("zks_getL1BatchDetails", number) for number in range(1, 5)]
    for details in (blocks, batches):
        assert [detail["l1GasPrice"] // 10**9 for detail in details] == [5, 7, 7, 11]
        # 17 gas of L1 for a byte, and a share of what a batch costs there.
        assert [detail["fairPubdataPrice"] / detail["l1GasPrice"] for detail in details] == [
            18.6
        ] * 4
    metadata = rollup("zks_getBlockMetadataByNumber", 2)
    assert int(metadata["pubdata_price_per_byte"], 16) == blocks[1]["fairPubdataPrice"]


def test_the_last_executed_batch_is_found_without_reading_the_pending_ones(
    rollup: Rollup, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = rollup.chain.batches
    for number in range(1, 41):
        rollup.chain.seal_messages(number)
        rollup.seal_batch()
    for number in range(1, 8):
        rollup.settle(number, *SettlementStep)
    reads: list[int] = []
    settled = table.settled

    def counted(number: int, step: SettlementStep) -> SettlementTransaction | None:
        reads.append(number)
        return settled(number, step)

    monkeypatch.setattr(table, "settled", counted)
    assert rollup("zks_getFinalityStatus")["lastExecutedBatch"] == 7
    assert len(reads) <= 6


@pytest.mark.parametrize(
    "method", ["zks_getL1BatchDetails", "zks_getBlockDetails", "zks_getL1BatchBlockRange"]
)
@pytest.mark.parametrize("number", [5, 2**63])
def test_what_is_not_there_is_null(rollup: Rollup, method: str, number: int) -> None:
    assert rollup(method, number) is None


def test_a_transaction_of_the_node_is_one_of_l2(rollup: Rollup) -> None:
    chain = rollup.chain
    chain.edit(ROOT_STORAGE, lambda edited: edited.set_code(ROOT_STORAGE, ROOT_CONTRACT.code))
    chain.filler.roots.extend(roots(3))
    chain.deposit()
    chain.builder.seal()
    batch = rollup.seal_batch()
    for details in (rollup("zks_getBlockDetails", 1), rollup("zks_getL1BatchDetails", batch)):
        assert (details["l1TxCount"], details["l2TxCount"]) == (1, 1)
    sealed = chain.batches.get(batch)
    assert sealed is not None
    assert sealed.l1_transactions == 1
    name = str(chain.blocks.record(1).transaction_hash(0))
    shown = rollup("zks_getTransactionDetails", name)
    assert (shown["isL1Originated"], shown["fee"]) == (False, "0x0")
    assert shown["initiatorAddress"] == str(SYSTEM_SENDER)
    common = rollup("zks_getRawBlockTransactions", 1)[0]["common_data"]["L2"]
    assert (common["transactionType"], common["signature"]) == ("SystemTransaction", [])


def test_a_proof_to_another_l2_has_the_block_of_l1_and_words_of_64_digits(rollup: Rollup) -> None:
    name = str(rollup.chain.send_message(9))
    rollup.chain.builder.seal()
    batch = rollup.seal_batch()
    rollup.settle(batch, *SettlementStep)
    request = "zks_getL2ToL1LogProof", name, 0, "messageRoot"
    assert rollup(*request) is None
    rollup.chain.batches.books.unbook(batch, "InteropValueNotCovered(1, 2, 3, 4)")
    with pytest.raises(RpcError, match=r"-32000: .*batch 1 .*InteropValueNotCovered\(1, 2, 3, 4\)"):
        rollup(*request)
    root, words = Hash32(b"\7" * 32), bytes(31) + b"\1" + b"\2" * 64
    path = BatchPath(77, Hash32(rollup.batcher.last.message_root), root, 0, words)
    rollup.chain.batches.roots.update(1, RootCursor(77, root, b""), paths=[(batch, path)])
    proof = rollup(*request)
    plain = rollup("zks_getL2ToL1LogProof", name, 0, "l1BatchRoot")
    assert proof["gatewayBlockNumber"] == 77
    assert proof["root"] == str(root)
    assert {len(word) for word in proof["proof"]} == {66}
    assert proof["proof"][0] == "0x010f0000" + "00" * 28
    assert proof["proof"][1:16] == plain["proof"][1:]
    assert proof["proof"][16:] == ["0x" + "00" * 31 + "01", "0x" + "02" * 32, "0x" + "02" * 32]
    assert (proof["id"], proof["batchNumber"]) == (plain["id"], plain["batchNumber"])
    assert "gatewayBlockNumber" not in plain


@pytest.mark.parametrize("target", ["", "proof_based_gw", "MESSAGEROOT"])
def test_another_target_of_a_proof_is_rejected_by_name(rollup: Rollup, target: str) -> None:
    with pytest.raises(RpcError, match=rf"-32602: params\[2\].*'{target}'"):
        rollup("zks_getL2ToL1LogProof", "0x" + "12" * 32, 0, target)


def test_the_last_blocks_and_batches_of_each_step_are_told(rollup: Rollup) -> None:
    rollup.chain.send_message(1)
    rollup.chain.builder.seal()
    batch = rollup.seal_batch()
    rollup.settle(batch, SettlementStep.COMMIT, SettlementStep.PROVE, SettlementStep.EXECUTE)
    rollup.chain.set_finality(safe=1)
    assert rollup("zks_getFinalityStatus") == {
        "lastSealedBlock": 1,
        "lastCommittedBlock": 1,
        "lastCommittedBatch": 1,
        "lastExecutedBlock": 1,
        "lastExecutedBatch": 1,
        "lastFinalizedBlock": 0,
        "lastFinalizedBatch": 0,
    }


def test_the_transactions_of_a_block_have_every_field(rollup: Rollup) -> None:
    deposit = str(rollup.chain.deposit())
    transfer = str(rollup.chain.transfer())
    rollup.chain.builder.seal()
    from_l1, from_l2 = rollup("zks_getRawBlockTransactions", 1)
    assert from_l1["common_data"]["L1"]["canonicalTxHash"] == deposit
    assert from_l1["raw_bytes"] is None
    common = from_l2["common_data"]["L2"]
    assert (common["input"]["hash"], common["transactionType"]) == (transfer, "EIP1559Transaction")
    assert len(common["signature"]) == 65
    assert rollup("zks_getRawBlockTransactions", 7) == []


def test_the_transactions_of_a_block_are_rendered_up_to_the_limit_of_a_response(
    rollup: Rollup,
) -> None:
    for _ in range(2):
        rollup.chain.transfer()
    rollup.chain.builder.seal()
    size = len(encode(rollup("zks_getRawBlockTransactions", 1))) // 2
    for _ in range(rollup.max_bytes // size + 1):
        rollup.chain.transfer()
    rollup.chain.builder.seal()
    with pytest.raises(RpcError, match="Response is too big"):
        rollup("zks_getRawBlockTransactions", 2)


@pytest.mark.parametrize("prefix", ["zks", "unstable"])
def test_a_transaction_can_be_sent_for_a_preview_of_what_it_does(
    rollup: Rollup, prefix: str
) -> None:
    chain = rollup.chain
    name = chain.send_message(6, times=2)
    waiting = chain.pool.get(name)
    assert waiting is not None
    chain.pool.remove(name, "the test sends it itself")
    answer = rollup(f"{prefix}_sendRawTransactionWithDetailedOutput", "0x" + waiting.raw.hex())
    assert answer["transactionHash"] == str(name)
    assert [event["logIndex"] for event in answer["events"]] == ["0x0", "0x1"]
    assert answer["storageLogs"] == []
    assert chain.pool.get(name) is not None


def responses(rollup: Rollup, name: str, block: int = 1, batch: int = 1) -> list[object]:
    """Return what the methods say that remember rendered settlements."""
    return [
        rollup("zks_getBlockDetails", block),
        rollup("zks_getL1BatchDetails", batch),
        rollup("zks_getTransactionDetails", name),
        rollup("zks_getL2ToL1LogProof", name, 0),
        rollup("zks_getL2ToL1MsgProof", block, str(sender(USER)), message_hash(1)),
    ]


def afresh(rollup: Rollup, name: str) -> list[object]:
    """Return what they say where nothing is remembered."""
    rollup.chain.batches._db.rewrites += 1
    return responses(rollup, name)


def test_what_is_remembered_of_a_batch_follows_its_settlement(rollup: Rollup) -> None:
    name = str(rollup.chain.send_message(1))
    rollup.chain.builder.seal()
    batch = rollup.seal_batch()
    table, seen = rollup.chain.batches, [responses(rollup, name)]
    by = SettlementTransaction(Hash32(b"\x77" * 32), 9, 1_700_000_009)
    changes: list[Callable[[], None]] = [
        lambda: rollup.settle(batch, *SettlementStep),
        lambda: rollup.chain.set_finality(safe=1, finalized=1),
        lambda: table.update_settlement([batch], SettlementStep.EXECUTE, by),
        lambda: rollup.chain.set_finality(safe=0, finalized=0),
        lambda: table.revert_settlement([batch], SettlementStep.EXECUTE),
        lambda: table.revert_settlement_above(1),
    ]
    for change in changes:
        change()
        now = responses(rollup, name)
        assert now != seen[-1]
        assert now == responses(rollup, name) == afresh(rollup, name)
        seen.append(now)
    assert seen[-1] == seen[0]


def test_what_is_remembered_of_a_batch_is_gone_with_it(rollup: Rollup) -> None:
    checkpoint = rollup.chain.history.mark()
    name = str(rollup.chain.send_message(1))
    rollup.chain.builder.seal()
    rollup.settle(rollup.seal_batch(), *SettlementStep)
    before = responses(rollup, name)
    assert None not in before
    revert(rollup.chain, checkpoint)
    assert responses(rollup, name) == [None] * 5
    other = Batcher(rollup.chain.blocks, rollup.chain.batches, SealingPolicy(max_age=10.0**9))
    rollup.chain.transfer()
    rollup.chain.seal_messages(1)
    assert completed(other.seal(0.0)) is not None
    rollup.settle(1, *SettlementStep)
    now = responses(rollup, name)
    assert now == afresh(rollup, name)
    assert [old == new for old, new in zip(before, now, strict=True)] == [False] * 5


def test_a_block_that_no_batch_has_may_be_another_one_later(rollup: Rollup) -> None:
    checkpoint = rollup.chain.history.mark()
    rollup.chain.seal_messages(1)
    before = rollup("zks_getBlockDetails", 1)
    revert(rollup.chain, checkpoint)
    rollup.chain.seal_messages(2, 3)
    now = rollup("zks_getBlockDetails", 1)
    assert (before["l2TxCount"], now["l2TxCount"]) == (1, 2)
    assert now["rootHash"] == str(rollup.chain.head.hash()) != before["rootHash"]


def test_a_proof_of_a_large_batch_is_made_on_a_thread_and_then_at_once(rollup: Rollup) -> None:
    for first in range(0, QUICK_LOGS + 10, 20):
        rollup.chain.seal_messages(*range(first + 1, first + 21))
    rollup.settle(rollup.seal_batch(), *SettlementStep)
    question = ("zks_getL2ToL1MsgProof", 1, str(sender(USER)), message_hash(7))
    prove = rollup._dispatcher.methods["zks_getL2ToL1MsgProof"].function
    arguments = (1, sender(USER), Hash32((7).to_bytes(32)))
    assert isinstance(prove(*arguments), Offload)
    proof = rollup(*question)
    assert not isinstance(prove(*arguments), Offload)
    assert rollup(*question) == proof
