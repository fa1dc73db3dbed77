"""The developer methods of a chain: `anvil_`, `hardhat_`, `evm_`, `tenderly_`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.rpc.namespaces.dev.block_control import AnvilBlockControl, HardhatBlockControl
from entresol.rpc.namespaces.dev.evm import Evm, TimeTravel
from entresol.rpc.namespaces.dev.impersonation import AnvilImpersonation, HardhatImpersonation
from entresol.rpc.namespaces.dev.mine_detailed import MineDetailed
from entresol.rpc.namespaces.dev.mining import AnvilMine, HardhatMine
from entresol.rpc.namespaces.dev.node_info import AnvilNode, HardhatNode
from entresol.rpc.namespaces.dev.pool import AnvilPool, HardhatPool
from entresol.rpc.namespaces.dev.rejected import RejectedControls
from entresol.rpc.namespaces.dev.reorg import AnvilReorg, HardhatReset
from entresol.rpc.namespaces.dev.revert_runner import RevertRunner
from entresol.rpc.namespaces.dev.state import (
    AccountEdits,
    BalanceEdits,
    HardhatStateEdits,
    StateEdits,
)
from entresol.rpc.namespaces.dev.state_files import AnvilState, HardhatState
from entresol.rpc.namespaces.dev.tokens import AnvilTokens, HardhatTokens
from entresol.rpc.namespaces.dev.unsigned import EthUnsigned

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor

    from entresol.chain.chain import Chain
    from entresol.chain.dev.keyring import Keyring
    from entresol.node.pair_control import PairControl
    from entresol.rpc.jsonrpc.method import Namespace
    from entresol.rpc.namespaces.dev.tokens import TokenEdits
    from entresol.rpc.services.fill_transaction import TransactionFiller
    from entresol.rpc.services.rendered_chain import RenderedChain
    from entresol.rpc.services.sending.submission import Submission


def dev_namespaces(  # noqa: PLR0913 - independent parts
    chain: Chain,
    keyring: Keyring,
    pair: PairControl,
    *,
    rendered: RenderedChain,
    tokens: TokenEdits,
    submission: Submission,
    filler: TransactionFiller,
    executor: Executor,
    client_version: str,
    set_logging: Callable[[bool], None],
) -> list[Namespace]:
    """Return the namespaces that both layers have."""
    reverts = RevertRunner(executor)
    return [
        Evm(chain, pair.checkpoints, reverts),
        AccountEdits(chain),
        MineDetailed("evm", chain, rendered),
        BalanceEdits("tenderly", chain),
        TimeTravel("anvil", chain, pair.checkpoints, reverts),
        StateEdits("anvil", chain),
        AnvilBlockControl(chain),
        AnvilImpersonation(keyring),
        AnvilMine(chain),
        MineDetailed("anvil", chain, rendered),
        AnvilNode(chain, pair.checkpoints, client_version, set_logging),
        AnvilPool(chain.pool),
        AnvilReorg(chain, pair.linked, reverts, keyring, filler),
        AnvilState(chain, pair.states, executor),
        AnvilTokens(tokens),
        RejectedControls(),
        EthUnsigned(submission, keyring, filler),
        HardhatStateEdits(chain),
        HardhatBlockControl(chain),
        HardhatImpersonation(keyring),
        HardhatMine(chain),
        HardhatNode(chain, client_version, set_logging),
        HardhatPool(chain.pool, chain.blocks),
        HardhatReset(pair.linked, reverts),
        HardhatState(chain, pair.states, executor),
        HardhatTokens(tokens),
    ]
