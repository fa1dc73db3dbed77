"""What the tests of zksync-era check of its API, item by item: the items about L1, batches and settlement.

The number of a test is that of its item in the list of behaviours; `test_era_checklist.py` has the others.
Where this node decides otherwise, the test has the word `here` in its name and says why.

Batches are settled by hand, step by step, so that every state on the way can be looked at; two L1 blocks
must stand on a step before it counts as final, so that there is a way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import rlp
from trie.hexary import HexaryTrie
from web3 import Web3

from tests.support.polling import eventually
from tests.support.rollup.web3_pair import MESSENGER, Pair, running_pair

pytestmark = pytest.mark.clients

CONFIRMATIONS: Final = 2
GENESIS: Final = "0x0"
UNKNOWN: Final = "0x" + "ab" * 32
NOBODY: Final = Web3.to_checksum_address("0x00000000000000000000000000000000deadbeef")
STEPS: Final = ("commit", "prove", "execute")
HASH: Final = re.compile(r"0x[0-9a-f]{64}")


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    """Start a node that settles by itself."""
    with running_pair("--l1-delay", "0") as running:
        yield running


@pytest.fixture
def slow() -> Iterator[Pair]:
    """Start a fresh node that settles only by hand."""
    arguments = ("--no-settle", "--l1-delay", "0", "--l1-confirmations", str(CONFIRMATIONS))
    with running_pair(*arguments) as running:
        yield running


def perform(pair: Pair, step: str, batch: int) -> str:
    """Do a step of a batch, and return the transaction on L1."""
    return str(pair.ask(f"anvil_zks_{step}Batch", batch))


def confirm(pair: Pair) -> None:
    """Put enough L1 blocks on the last step, and have the node look at L1 again."""
    pair.l1.provider.make_request("anvil_mine", [hex(CONFIRMATIONS)])


def number_of(pair: Pair, tag: str) -> int:
    return int(pair.ask("eth_getBlockByNumber", tag, False)["number"], 16)


def status_of_batch(pair: Pair, number: int) -> Any:
    return pair.ask("zks_getL1BatchDetails", number)


# Blocks and tags.


def test_01_a_fresh_chain_is_at_batch_0_which_has_a_root(slow: Pair) -> None:
    assert slow.ask("eth_blockNumber") == slow.ask("zks_L1BatchNumber") == "0x0"
    details = slow.ask("zks_getL1BatchDetails", 0)
    assert HASH.fullmatch(details["rootHash"])
    assert (details["number"], details["status"]) == (0, "verified")


def test_05_every_tag_of_the_network_gives_a_block(pair: Pair) -> None:
    tags = ("committed", "finalized", "latest", "l1_committed", "safe", "fast_finalized")
    assert all(number_of(pair, tag) >= 0 for tag in tags)
    assert number_of(pair, "earliest") == 0


def test_06_to_09_tags_follow_commit_and_execution_and_not_the_proof(slow: Pair) -> None:
    """Tags move only when a step is deep enough on L1; here `fast_finalized` waits for that, too."""
    said = slow.say(b"on its way")["blockNumber"]

    def tags() -> tuple[int, ...]:
        names = ("l1_committed", "safe", "precommitted", "finalized", "fast_finalized")
        return tuple(number_of(slow, name) for name in names)

    assert tags() == (0, 0, 0, 0, 0)
    perform(slow, "commit", 1)
    assert tags() == (0, 0, 0, 0, 0)
    confirm(slow)
    perform(slow, "prove", 1)
    assert tags() == (said, said, said, 0, 0)
    perform(slow, "execute", 1)
    assert tags() == (said, said, said, 0, 0)
    confirm(slow)
    slow.say(b"what makes the node look again")
    perform(slow, "commit", 2)
    assert tags() == (said, said, said, said, said)


def test_10_the_last_block_is_in_the_batch_that_was_sealed_last(pair: Pair) -> None:
    receipt = pair.settled(pair.say(b"the last"))
    block = pair.ask("eth_getBlockByNumber", "latest", False)
    assert block["l1BatchNumber"] == receipt["l1BatchNumber"] == pair.ask("zks_L1BatchNumber")


def test_11_and_12_nothing_is_pruned_here(pair: Pair) -> None:
    # Every block and every batch stays: there is no horizon below which an error would be due.
    pair.settled(pair.say(b"something to keep"))
    assert pair.ask("eth_getBlockByNumber", GENESIS, False)["l1BatchNumber"] == "0x0"
    assert pair.ask("zks_getL1BatchDetails", 0) is not None
    assert pair.ask("zks_getL1BatchBlockRange", 0) == ["0x0", "0x0"]


def test_15_to_19_a_block_with_a_deposit_is_a_block_like_any_other(pair: Pair) -> None:
    deposit = pair.deposit(pair.bob, 5, dependencies=(bytes(32),))
    # Before that, what is told of its batch may change between two questions.
    pair.settled(deposit.receipt)
    number = hex(deposit.receipt["blockNumber"])
    block = pair.ask("eth_getBlockByNumber", number, True)
    receipts = pair.ask("eth_getBlockReceipts", number)
    (transaction,) = block["transactions"]
    assert int(block["gasUsed"], 16) >= sum(int(it["gasUsed"], 16) for it in receipts)
    assert len(block["logsBloom"]) == 514
    assert receipts == [pair.ask("eth_getTransactionReceipt", deposit.hash)]
    assert block == pair.ask("eth_getBlockByHash", block["hash"], True)
    assert transaction == pair.ask("eth_getTransactionByBlockNumberAndIndex", number, "0x0")
    assert transaction == pair.ask("eth_getTransactionByBlockHashAndIndex", block["hash"], "0x0")
    assert transaction == pair.ask("eth_getTransactionByHash", deposit.hash)


def test_20_a_block_knows_its_batch_after_sealing_and_batches_follow_each_other(
    slow: Pair,
) -> None:
    for text in (b"one", b"two", b"three"):
        slow.say(text)
    before = slow.ask("eth_getBlockByNumber", "0x2", False)
    assert (before["l1BatchNumber"], before["l1BatchTimestamp"]) == (None, None)
    perform(slow, "commit", 1)
    slow.say(b"four")
    perform(slow, "commit", 2)
    assert slow.ask("zks_getL1BatchBlockRange", 1) == ["0x1", "0x3"]
    assert slow.ask("zks_getL1BatchBlockRange", 2) == ["0x4", "0x4"]
    assert slow.ask("zks_getL1BatchBlockRange", 3) is None
    first = slow.ask("eth_getBlockByNumber", "0x1", False)
    after = slow.ask("eth_getBlockByNumber", "0x2", False)
    assert (after["l1BatchNumber"], after["l1BatchTimestamp"]) == ("0x1", first["timestamp"])


# Details and receipts.


def test_42_details_of_an_unknown_transaction_are_null(pair: Pair) -> None:
    assert pair.ask("zks_getTransactionDetails", UNKNOWN) is None


def test_42_details_of_a_transaction_from_waiting_to_verified(slow: Pair) -> None:
    slow.ask("evm_setAutomine", False)
    sent = slow.messenger.functions.sendToL1(b"details").transact().to_0x_hex()
    waiting = slow.ask("zks_getTransactionDetails", sent)
    assert (waiting["status"], waiting["fee"], waiting["isL1Originated"]) == (
        "pending",
        "0x0",
        False,
    )
    assert waiting["initiatorAddress"] == slow.alice.lower()
    slow.ask("evm_mine")
    slow.ask("evm_setAutomine", True)
    included = slow.ask("zks_getTransactionDetails", sent)
    assert (included["status"], included["ethCommitTxHash"]) == ("included", None)
    assert int(included["fee"], 16) > 0
    done = {step: perform(slow, step, 1) for step in STEPS}
    executed = slow.ask("zks_getTransactionDetails", sent)
    assert executed["status"] == "fastFinalized"
    keys = ("ethCommitTxHash", "ethProveTxHash", "ethExecuteTxHash")
    assert tuple(executed[key] for key in keys) == tuple(done.values())


def test_42_a_transaction_of_l1_says_so_and_is_verified_in_the_end(pair: Pair) -> None:
    deposit = pair.deposit(pair.bob, 1)
    pair.settled(deposit.receipt)
    details = pair.ask("zks_getTransactionDetails", deposit.hash)
    assert (details["isL1Originated"], details["status"]) == (True, "verified")
    assert details["gasPerPubdata"] == hex(800)


def test_43_hashes_and_statuses_appear_step_by_step(slow: Pair) -> None:
    sent = slow.say(b"a walk")["transactionHash"].to_0x_hex()
    block = slow.ask("zks_getBlockDetails", 1)
    assert (block["status"], block["commitTxHash"], block["l1BatchNumber"]) == ("sealed", None, 1)
    assert status_of_batch(slow, 1) is None
    seen = []
    for step in STEPS:
        done = perform(slow, step, 1)
        batch = status_of_batch(slow, 1)
        assert batch[f"{step}TxHash"] == done
        assert slow.ask("zks_getBlockDetails", 1)[f"{step}TxHash"] == done
        assert batch[f"{step}ChainId"] == slow.l1.eth.chain_id
        seen.append((batch["status"], batch[f"{step}TxFinality"]))
    assert seen == [
        ("sealed", "fast_finalized"),
        ("sealed", "fast_finalized"),
        ("fastFinalized", "fast_finalized"),
    ]
    confirm(slow)
    slow.say(b"what makes the node look again")
    perform(slow, "commit", 2)
    batch = status_of_batch(slow, 1)
    assert (batch["status"], batch["executeTxFinality"]) == ("verified", "finalized")
    assert slow.ask("zks_getTransactionDetails", sent)["status"] == "verified"


def test_44_receipts_logs_and_transactions_agree_about_their_batch(pair: Pair) -> None:
    receipt = pair.settled(pair.say(b"agreed"))
    batch = receipt["l1BatchNumber"]
    transaction = pair.ask("eth_getTransactionByHash", receipt["transactionHash"])
    (found,) = pair.ask("eth_getLogs", {"blockHash": receipt["blockHash"]})
    (log,), (message,) = receipt["logs"], receipt["l2ToL1Logs"]
    everywhere = (transaction, found, log, message)
    assert [it["l1BatchNumber"] for it in everywhere] == [batch] * 4
    assert message["txIndexInL1Batch"] == receipt["l1BatchTxIndex"]
    assert transaction["l1BatchTxIndex"] == receipt["l1BatchTxIndex"]


def test_45_and_46_a_deposit_creates_no_contract(pair: Pair) -> None:
    assert pair.deposit(pair.bob, 1).receipt["contractAddress"] is None


def test_47_the_log_of_a_message_has_the_time_of_its_block(pair: Pair) -> None:
    receipt = pair.settled(pair.say(b"timed"))
    block = pair.ask("eth_getBlockByHash", receipt["blockHash"], False)
    assert receipt["logs"][0]["blockTimestamp"] == block["timestamp"]


# Proofs.


def test_76_the_root_of_a_block_is_its_hash(pair: Pair) -> None:
    receipt = pair.settled(pair.say(b"rooted"))
    number = int(receipt["blockNumber"], 16)
    details = pair.ask("zks_getBlockDetails", number)
    assert details["rootHash"] == receipt["blockHash"]
    assert details["number"] == number


def test_77_l1_accepts_the_proof_of_a_log(pair: Pair) -> None:
    receipt = pair.settled(pair.say(b"believe me"))
    proof = pair.ask("zks_getL2ToL1LogProof", receipt["transactionHash"])
    assert pair.believes(proof, receipt, pair.alice, b"believe me")
    assert not pair.believes(proof, receipt, pair.alice, b"believe him")


def test_78_two_equal_withdrawals_have_two_proofs_which_both_count(pair: Pair) -> None:
    pair.settled(pair.deposit(pair.bob, 10).receipt)
    receipts = [
        pair.settled(pair.l2_sent(pair.base_token.functions.withdraw(pair.bob), 3))
        for _ in range(2)
    ]
    before = pair.l1.eth.get_balance(pair.bob)
    for receipt in receipts:
        log = sent_in(receipt)
        index = int(log["logIndex"], 16)
        block, hashed = int(receipt["blockNumber"], 16), log["topics"][2]
        asked = (block, pair.base_token.address, hashed, index)
        proof = pair.ask("zks_getL2ToL1MsgProof", *asked)
        assert proof == pair.ask("zks_getL2ToL1LogProof", receipt["transactionHash"], 0)
        finalize(pair, receipt, proof)
    assert pair.l1.eth.get_balance(pair.bob) - before == 6


def test_78_equal_messages_of_one_batch_are_told_apart_by_their_position(slow: Pair) -> None:
    same = [slow.say(b"again")["blockNumber"] for _ in range(3)]
    for step in STEPS:
        perform(slow, step, 1)
    hashed = Web3.keccak(b"again").to_0x_hex()
    proofs = [slow.ask("zks_getL2ToL1MsgProof", block, slow.alice, hashed, 0) for block in same]
    assert [proof["id"] for proof in proofs] == [0, 1, 2]
    # Without a position it is the first of the batch, whichever block is asked about.
    firsts = [slow.ask("zks_getL2ToL1MsgProof", block, slow.alice, hashed) for block in same]
    assert firsts == [proofs[0]] * 3
    for block, proof in zip(same, proofs, strict=True):
        (name,) = slow.ask("eth_getBlockByNumber", hex(block), False)["transactions"]
        receipt = slow.ask("eth_getTransactionReceipt", name)
        assert slow.believes(proof, receipt, slow.alice, b"again")


def test_79_a_proof_is_null_until_the_batch_is_executed(slow: Pair) -> None:
    """Here it needs no further L1 blocks: L1 accepts it from the execution on."""
    said = slow.say(b"not yet")
    name, hashed = said["transactionHash"].to_0x_hex(), Web3.keccak(b"not yet").to_0x_hex()

    def proofs() -> list[Any]:
        by_log = slow.ask("zks_getL2ToL1LogProof", name)
        by_message = slow.ask("zks_getL2ToL1MsgProof", said["blockNumber"], slow.alice, hashed)
        return [by_log, by_message]

    assert proofs() == [None, None]
    for step in STEPS:
        assert proofs() == [None, None]
        perform(slow, step, 1)
    by_log, by_message = proofs()
    assert by_log == by_message
    receipt = slow.ask("eth_getTransactionReceipt", name)
    assert slow.believes(by_log, receipt, slow.alice, b"not yet")


# What the list leaves out, and people ask for.


def test_steps_out_of_turn_are_rejected_with_the_reason(slow: Pair) -> None:
    slow.say(b"impatient")
    for step, batch in (("prove", 1), ("execute", 1), ("commit", 7)):
        answer = slow.l2.provider.make_request(f"anvil_zks_{step}Batch", [batch])
        assert answer["error"]["message"]
        assert slow.ask("zks_getFinalityStatus")["lastCommittedBatch"] == 0


@pytest.mark.parametrize("asked", ["l1", "l2"])
def test_both_layers_go_back_together(pair: Pair, asked: str) -> None:
    layer = getattr(pair, asked).provider
    pair.settled(pair.say(b"kept"))
    heads = pair.l1.eth.block_number, pair.l2.eth.block_number
    batch = pair.ask("zks_L1BatchNumber")
    taken = layer.make_request("evm_snapshot", [])["result"]
    gone = pair.deposit(pair.bob, 1)
    pair.settled(gone.receipt)
    assert layer.make_request("evm_revert", [taken])["result"] is True
    assert (pair.l1.eth.block_number, pair.l2.eth.block_number) == heads
    assert pair.ask("zks_L1BatchNumber") == batch
    assert pair.ask("eth_getTransactionReceipt", gone.hash) is None
    again = pair.settled(pair.deposit(pair.bob, 1).receipt)
    assert int(again["l1BatchNumber"], 16) == int(batch, 16) + 1


def test_what_accounts_have_from_the_beginning_can_be_withdrawn(slow: Pair) -> None:
    amount = 1_000 * 10**18
    sent = slow.l2_sent(slow.base_token.functions.withdraw(slow.bob), amount)
    for step in STEPS:
        perform(slow, step, 1)
    name = sent["transactionHash"].to_0x_hex()
    before = slow.l1.eth.get_balance(slow.bob)
    receipt = slow.ask("eth_getTransactionReceipt", name)
    finalize(slow, receipt, slow.ask("zks_getL2ToL1LogProof", name))
    assert slow.l1.eth.get_balance(slow.bob) - before == amount


def test_both_layers_answer_the_same_after_the_process_was_killed(tmp_path: Path) -> None:
    arguments = ("--l1-delay", "0", "--data-dir", str(tmp_path / "chain"))
    with running_pair(*arguments) as before:
        deposit = before.deposit(before.bob, 5)
        said = before.settled(before.say(b"for ever"))
        name = said["transactionHash"]
        questions = [
            ("zks_getL2ToL1LogProof", name),
            ("zks_getL2ToL1LogProof", deposit.hash),
            ("eth_getTransactionReceipt", name),
            ("zks_getTransactionDetails", deposit.hash),
            ("zks_getL1BatchDetails", int(said["l1BatchNumber"], 16)),
        ]
        answers = [before.ask(*question) for question in questions]
    with running_pair(*arguments) as after:
        eventually(lambda: number_of(after, "finalized") >= int(said["blockNumber"], 16))
        assert [after.ask(*question) for question in questions] == answers
        assert after.believes(answers[0], said, after.alice, b"for ever")
        assert after.settled(after.deposit(after.bob, 1).receipt)["status"] == "0x1"


def test_an_account_is_proven_under_the_root_that_l1_has_of_the_batch(pair: Pair) -> None:
    """The tree is here the state trie of Ethereum, read by a library that knows nothing of this node."""
    receipt = pair.settled(pair.deposit(NOBODY, 7).receipt)
    batch = int(receipt["l1BatchNumber"], 16)
    answer = pair.ask("zks_getProof", NOBODY, [UNKNOWN], batch)
    root = pair.ask("zks_getL1BatchDetails", batch)["rootHash"]
    (committed,) = pair.chain.events.BlockCommit().get_logs(
        from_block=0, argument_filters={"batchNumber": batch}
    )
    assert answer["stateRoot"] == root == "0x" + committed["args"]["batchHash"].hex()
    nodes = [rlp.decode(bytes.fromhex(node[2:])) for node in answer["accountProof"]]
    prove: Any = HexaryTrie.get_from_proof
    leaf = prove(bytes.fromhex(root[2:]), Web3.keccak(hexstr=NOBODY), nodes)
    nonce, balance, *_ = rlp.decode(leaf)
    assert (nonce, int.from_bytes(balance)) == (b"", int(answer["balance"], 16))


def sent_in(receipt: Any) -> Any:
    """Return the event of the one message that a transaction sent."""
    (event,) = (log for log in receipt["logs"] if log["address"] == MESSENGER)
    return event


def finalize(pair: Pair, receipt: Any, proof: Any) -> None:
    """Have L1 pay a withdrawal, and see that it pays once."""
    (message,) = pair.l2.codec.decode(["bytes"], bytes.fromhex(sent_in(receipt)["data"][2:]))
    number = int(receipt["l1BatchTxIndex"], 16)
    call = pair.nullifier.functions.finalizeDeposit(
        (
            *(pair.chain_id, proof["batchNumber"], proof["id"], pair.base_token.address, number),
            *(message, proof["proof"]),
        )
    )
    pair.l1_sent(call)
    named = (pair.chain_id, proof["batchNumber"], proof["id"])
    eventually(lambda: pair.nullifier.functions.isWithdrawalFinalized(*named).call())
    with pytest.raises(Exception, match="0x"):
        call.call()
