"""Open an L1 alone, as anvil has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from entresol.chain.chain import Chain
from entresol.chain.edits import BlockSettings
from entresol.features.explorer.settings import ExplorerConfig
from entresol.node.config.schema import ETHER, NodeConfig
from entresol.node.dev_features import requested_accounts
from entresol.node.genesis_config import anvil_genesis
from entresol.node.opening.chain_parts import (
    closed_on_failure,
    pool_config,
    start_clock,
    start_mining,
)
from entresol.node.opening.forked_genesis import begin_fork, genesis_of_fork
from entresol.node.opening.layer_one import layer_one_rules

if TYPE_CHECKING:
    from entresol.features.fork.opening.open_fork import OpenFork


def open_layer_one_alone(config: NodeConfig, fork: OpenFork | None = None) -> Chain:
    """Open a temporary L1 that the sections `chain` and `evm` describe, as anvil's chain, or as a fork."""
    settings, evm = config.chain, config.evm
    rules = msgspec.structs.replace(
        layer_one_rules(config),
        chain_id=settings.chain_id,
        fork=settings.hardfork,
        gas_limit=settings.gas_limit,
        code_size_limit=None if evm.disable_code_size_limit else evm.code_size_limit,
        max_transactions=settings.max_transactions,
        rejects_foreign_code=fork is not None and fork.remote.anchor.may_have_foreign_code,
    )
    remote, base_fee = None, None
    if fork is None:
        genesis = anvil_genesis(config)
        base_fee = genesis.base_fee  # In anvil it moves from block 2 on.
    else:
        accounts = [requested_account.address for requested_account in requested_accounts(settings)]
        genesis = genesis_of_fork(fork, settings.chain_id, accounts, settings.balance * ETHER)
        remote = fork.remote.table
        if "l1_base_fee" in config.given:
            base_fee = config.l1_blocks.l1_base_fee
    chain = Chain.open(None, rules, genesis, pool=pool_config(settings), remote=remote)
    with closed_on_failure(chain):
        chain.ledger.store.index_accounts(wanted=config.of(ExplorerConfig).explorer)
        if base_fee is not None:
            chain.configure(BlockSettings(base_fee=base_fee))
        start_clock(chain, settings)
        start_mining(chain, settings)
        begin_fork(chain, fork)
    return chain
