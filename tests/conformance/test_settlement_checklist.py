"""What the tests of zksync-era check of its API, item by item: the items about L1, batches and settlement.

The number of a test is that of its item in the list of behaviours; `test_era_checklist.py` has the others.
Where this node decides otherwise, the test has the word `here` in its name and says why.

Batches are settled by hand, step by step, so that every state on the way can be checked; a step needs two
confirmations on L1 before it counts as final, so that there is a way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest
import rlp
from eth_utils.crypto import keccak
from trie.hexary import HexaryTrie

from entresol.l1.contracts import BATCH_COMMITTED
from tests.support.rollup.pair import (
    RECEIVER,
    USER,
    Json,
    Pair,
    messages_in,
    running_pair,
)
from tests.support.rpc_client import RpcError

pytestmark = pytest.mark.clients

CONFIRMATIONS: Final = 2
UNKNOWN: Final = "0x" + "ab" * 32
STEPS: Final = ("commit", "prove", "execute")


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


def say(pair: Pair, message: bytes) -> Json:
    """Send a message to L1, and return the receipt."""
    return pair.l2.receipt(pair.send_message(message))


def deposit(pair: Pair, value: int = 1) -> Json:
    """Deposit ether at cost, and return the receipt on L2 after L1 has executed its batch."""
    arrived = pair.arrived(pair.deposit_at_cost(value))
    # Before that, its batch may change between two requests.
    return pair.finalized(arrived["transactionHash"])


def perform(pair: Pair, step: str, batch: int) -> str:
    """Perform a step of a batch, and return the transaction on L1."""
    return str(pair.l2(f"anvil_zks_{step}Batch", batch))


def confirm(pair: Pair) -> None:
    """Put enough L1 blocks on the last step, and have the node poll L1 again."""
    pair.l1("anvil_mine", hex(CONFIRMATIONS))


def balance_l1(pair: Pair, address: object) -> int:
    return int(pair.l1("eth_getBalance", str(address), "latest"), 16)


# Blocks and tags.


def test_06_to_09_tags_follow_commit_and_execution_and_not_the_proof(slow: Pair) -> None:
    """Tags move only when a step is deep enough on L1; here `fast_finalized` waits for that, too."""
    said = int(say(slow, b"on its way")["blockNumber"], 16)

    def tags() -> tuple[int, ...]:
        names = ("l1_committed", "safe", "precommitted", "finalized", "fast_finalized")
        return tuple(slow.number_of(name) for name in names)

    assert tags() == (0, 0, 0, 0, 0)
    perform(slow, "commit", 1)
    assert tags() == (0, 0, 0, 0, 0)
    confirm(slow)
    perform(slow, "prove", 1)
    assert tags() == (said, said, said, 0, 0)
    perform(slow, "execute", 1)
    assert tags() == (said, said, said, 0, 0)
    confirm(slow)
    say(slow, b"what makes the node poll again")
    perform(slow, "commit", 2)
    assert tags() == (said, said, said, said, said)


@pytest.fixture(scope="module", params=["deposit", "three transactions"])
def block(pair: Pair, request: pytest.FixtureRequest) -> Json:
    """Return a settled block: with a transaction of L1, or with three of users, two of them with logs."""
    if request.param == "deposit":
        sent = pair.arrived(pair.deposit_at_cost(5, dependencies=(bytes(32),)))["transactionHash"]
    else:
        pair.l2("evm_setAutomine", False)
        transfer = {"from": str(USER), "to": str(RECEIVER), "value": "0x1"}
        sent = pair.send_message(b"the first log")
        pair.l2("eth_sendTransaction", transfer)
        pair.send_message(b"the second log")
        pair.l2("evm_mine")
        pair.l2("evm_setAutomine", True)
    number = pair.finalized(sent)["blockNumber"]
    block: Json = pair.l2("eth_getBlockByNumber", number, False)
    assert len(block["transactions"]) == (1 if request.param == "deposit" else 3)
    return block


# Proofs.


def test_78_two_equal_withdrawals_have_two_proofs_which_both_count(pair: Pair) -> None:
    deposit(pair, 10)
    before = balance_l1(pair, RECEIVER)
    for receipt in [pair.finalized(pair.withdraw(3, to=RECEIVER)) for _ in range(2)]:
        (log,) = messages_in(receipt)
        block, hashed = int(receipt["blockNumber"], 16), log["topics"][2]
        named = (block, str(pair.base_token.address), hashed, int(log["logIndex"], 16))
        proof = pair.l2("zks_getL2ToL1MsgProof", *named)
        assert proof == pair.l2("zks_getL2ToL1LogProof", receipt["transactionHash"], 0)
        claim_once(pair, receipt["transactionHash"])
    assert balance_l1(pair, RECEIVER) - before == 6


# What the list leaves out, and users need.


def test_what_accounts_have_from_the_beginning_can_be_withdrawn(slow: Pair) -> None:
    amount = 1_000 * 10**18
    sent = slow.withdraw(amount, to=RECEIVER)
    slow.l2.receipt(sent)
    for step in STEPS:
        perform(slow, step, 1)
    before = balance_l1(slow, RECEIVER)
    claim_once(slow, sent)
    assert balance_l1(slow, RECEIVER) - before == amount


def test_an_account_is_proven_under_the_root_that_l1_has_of_the_batch(pair: Pair) -> None:
    """The tree is here the state trie of Ethereum, read by a library that knows nothing of this node."""
    batch = int(deposit(pair, 7)["l1BatchNumber"], 16)
    proof = pair.l2("zks_getProof", str(RECEIVER), [UNKNOWN], batch)
    root = pair.l2("zks_getL1BatchDetails", batch)["rootHash"]
    topics = [str(BATCH_COMMITTED), f"0x{batch:064x}"]
    (committed,) = pair.l1(
        "eth_getLogs", {"address": str(pair.chain.address), "topics": topics, "fromBlock": "0x0"}
    )
    assert proof["stateRoot"] == root == committed["topics"][2]
    nodes = [rlp.decode(bytes.fromhex(node[2:])) for node in proof["accountProof"]]
    prove: Any = HexaryTrie.get_from_proof
    leaf = prove(bytes.fromhex(root[2:]), keccak(RECEIVER), nodes)
    nonce, balance, *_ = rlp.decode(leaf)
    assert (nonce, int.from_bytes(balance)) == (b"", int(proof["balance"], 16))


def claim_once(pair: Pair, withdrawal: str) -> None:
    """Have L1 pay a withdrawal, and check that it pays once."""
    assert not pair.is_claimed(withdrawal)
    assert pair.l1.receipt(pair.claim(withdrawal))["status"] == "0x1"
    assert pair.is_claimed(withdrawal)
    with pytest.raises(RpcError, match="reverted"):
        pair.claim(withdrawal)
