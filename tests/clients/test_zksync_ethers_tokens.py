"""zksync-ethers 6 and the tokens of a layer 2: what is checked stands in `js/zk-tokens.mjs`."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from entresol.chain.l2_fees import FeeModel
from entresol.rpc.dispatch import Dispatcher
from entresol.rpc.namespaces.eth_blocks import EthBlocks
from entresol.rpc.namespaces.eth_calls import EthCalls
from entresol.rpc.namespaces.eth_fees import EthFees
from entresol.rpc.namespaces.eth_state import EthState
from entresol.rpc.namespaces.eth_transactions import EthTransactions
from entresol.rpc.namespaces.zks_code import ZksCode
from entresol.rpc.namespaces.zks_fees import ZksFees
from entresol.rpc.namespaces.zks_protocol import ZksProtocol
from entresol.rpc.namespaces.zks_settlement import ZksSettlement
from entresol.rpc.namespaces.zks_tokens import ZksTokens
from entresol.rpc.places import Places
from entresol.rpc.questions import Questions
from entresol.rpc.shapes.views import Views
from tests.clients.javascript import Results, checks_of, run_checks
from tests.contracts.l2.layer_two import LayerTwo
from tests.serving import running
from tests.unit.rpc.namespaces.test_zks import ON_L1, ON_L2

pytestmark = pytest.mark.clients

FILE = "zk-tokens.mjs"


def dispatcher_of(l2: LayerTwo, executor: ThreadPoolExecutor) -> Dispatcher:
    """Return what a client needs of a layer 2 that has its system contracts."""
    chain, places, questions = l2.chain, Places(l2.chain), Questions()
    views = Views(
        chain.rules.chain_id,
        chain.ledger.store,
        chain.pool,
        chain.pending_block,
    )
    return Dispatcher(
        [
            EthBlocks(chain, places, views),
            EthCalls(places, questions),
            EthFees(chain, places),
            EthState(chain, places),
            EthTransactions(chain, places, views),
            ZksFees(places, questions, FeeModel()),
            ZksProtocol(chain, l2.genesis),
            ZksCode(chain.ledger.store),
            ZksSettlement(31337, ON_L1, ON_L2),
            ZksTokens(places),
        ],
        executor=executor,
    )


@pytest.fixture(scope="module")
def results() -> Iterator[Results]:
    l2 = LayerTwo()
    l2.deposit()
    with ThreadPoolExecutor(1) as executor, running(dispatcher_of(l2, executor).handle) as server:
        yield run_checks(FILE, f"http://127.0.0.1:{server.port}")
    l2.close()


@pytest.mark.parametrize("check", checks_of(FILE))
def test_zksync_ethers_tokens(results: Results, check: str) -> None:
    assert results[check] is None, results[check]
