"""Prove from the history and from the stores that no fault mattered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from entresol.node.config.schema import L1Config
from tests.robustness.cluster.load import History, Sender
from tests.support.cluster.nodes import OPERATOR, ClusterProcesses
from tests.support.polling import eventually
from tests.support.rollup.layer_consistency import check_agreement
from tests.support.rpc_client import RpcClient

Block = dict[str, object]


def check(
    cluster: ClusterProcesses, history: History, senders: Sequence[Sender], nonce: int
) -> None:
    """Check everything, once all nodes have the same head; `nonce` is the operator's before it settled anything."""
    converge(cluster)
    printed = [node.printed() for node in cluster.nodes]
    assert not history.violations, "\n".join((*history.violations[:20], *printed))
    assert not any("Traceback" in it for it in printed), "\n".join(printed)
    chains = [blocks_of(node.client) for node in cluster.nodes]
    # A deposit of the last moment may have made a block since the first of them was read.
    for height, blocks in enumerate(zip(*chains, strict=False)):
        assert len({block["hash"] for block in blocks}) == 1, (
            f"the hashes at height {height} differ"
        )
    included = Counter(str(it) for block in chains[0] for it in transactions_of(block))
    assert [it for it, count in included.items() if count > 1] == []
    lost = {transaction.hash for transaction in history.acknowledged} - included.keys()
    assert lost == set()
    for sender in senders:
        check_balance(cluster.nodes[0].client, sender)
    data_dirs = [node.data_dir for node in cluster.nodes]
    for node in cluster.nodes:
        assert node.stop() == 0
    l1 = L1Config(
        l1_url=cluster.l1_url,
        bridgehub=str(cluster.contracts()["bridgehub"]),
        operator_key=str(OPERATOR.secret),
        l1_confirmations=0,
    )
    check_agreement(data_dirs[0], l1=l1, nonce=nonce)


def converge(cluster: ClusterProcesses) -> None:
    """Wait until all nodes have the same head, and everything is settled."""

    def is_settled() -> bool:
        heads = [node.client("eth_getBlockByNumber", "latest", False) for node in cluster.nodes]
        finals = [node.client("eth_getBlockByNumber", "finalized", False) for node in cluster.nodes]
        return len({final["hash"] for final in (*heads, *finals)}) == 1

    eventually(is_settled, lambda: "\n".join(node.printed()[-3000:] for node in cluster.nodes))


def blocks_of(client: RpcClient) -> list[Block]:
    """Return every block of a node."""
    head = int(client("eth_blockNumber"), 16)
    return [client("eth_getBlockByNumber", hex(number), False) for number in range(head + 1)]


def transactions_of(block: Block) -> Iterable[object]:
    """Return the hashes of a block's transactions."""
    found = block["transactions"]
    assert isinstance(found, list)
    return found


def check_balance(client: RpcClient, sender: Sender) -> None:
    """Check that a receiver has one wei for each transaction: the last one may be in a block without a response."""
    balance = int(client("eth_getBalance", sender.receiver, "latest"), 16)
    assert sender.sent <= balance <= sender.sent + 1
