"""zksync-ethers 6 and the tokens of a layer 2: the checks are in `js/zk-tokens.mjs`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from entresol.chain.fees import FeeModel
from entresol.rpc.jsonrpc.dispatch import Dispatcher
from entresol.rpc.namespaces.eth.blocks import EthBlocks
from entresol.rpc.namespaces.eth.calls import EthCalls
from entresol.rpc.namespaces.eth.client import EthClient
from entresol.rpc.namespaces.eth.fees import EthFees
from entresol.rpc.namespaces.eth.state import EthState
from entresol.rpc.namespaces.eth.transactions import EthTransactions, ResponseHold
from entresol.rpc.namespaces.zks.contracts import ZksBytecode, ZksContracts
from entresol.rpc.namespaces.zks.fees import ZksFees
from entresol.rpc.namespaces.zks.protocol import ZksProtocol
from entresol.rpc.namespaces.zks.tokens import ZksTokens
from entresol.rpc.services.block_resolver import BlockResolver
from entresol.rpc.services.call_runner import CallRunner
from entresol.rpc.services.native_reads import new_fee_history
from entresol.rpc.services.rendered_chain import PendingTransactions, RenderedChain
from entresol.rpc.threads.client_threads import ClientThreads
from entresol.sequencer.sequencer import InlineSequencer
from entresol.sequencer.submission import Submission
from tests.support.clients.javascript import Results, checks_of, run_checks
from tests.support.contracts.layer_two import LayerTwo
from tests.support.http_server import running_server
from tests.support.rollup.settlement_contracts import ON_L1, ON_L2

pytestmark = pytest.mark.clients

FILE = "zk-tokens.mjs"


def dispatcher_of(l2: LayerTwo, threads: ClientThreads) -> Dispatcher:
    """Return what a client needs of a layer 2 that has its system contracts."""
    chain, resolver, runner = l2.chain, BlockResolver(l2.chain), CallRunner()
    rendered = RenderedChain(
        chain.rules.chain_id,
        chain.blocks,
        PendingTransactions(chain.pool, chain.filler.priority),
        chain.builder.pending_block,
    )
    return Dispatcher(
        [
            EthClient(chain),
            EthBlocks(chain.blocks, resolver, rendered),
            EthCalls(resolver, runner),
            EthFees(chain, resolver, new_fee_history(chain)),
            EthState(resolver, chain.blocks, chain.state_trie, chain.pool),
            EthTransactions(
                *(chain, resolver, rendered),
                Submission(chain, InlineSequencer(chain)),
                ResponseHold(chain, 0.0),
            ),
            ZksFees(resolver, runner, FeeModel()),
            ZksProtocol(chain.blocks, l2.genesis),
            ZksBytecode(chain.blocks, lambda: chain.ledger.head_hash),
            ZksContracts(31337, ON_L1, ON_L2),
            ZksTokens(resolver),
        ],
        threads=threads,
    )


@pytest.fixture(scope="module")
def results() -> Iterator[Results]:
    l2 = LayerTwo()
    l2.deposit()
    with (
        closing(ClientThreads(1)) as threads,
        running_server(dispatcher_of(l2, threads).handle) as server,
    ):
        yield run_checks(FILE, f"http://127.0.0.1:{server.port}")
    l2.close()


@pytest.mark.parametrize("check", checks_of(FILE))
def test_zksync_ethers_tokens(results: Results, check: str) -> None:
    assert results[check] is None, results[check]
