"""Open an L1 alone, as anvil has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from entresol.chain.chain import Chain
from entresol.chain.edits import BlockSettings
from entresol.node.genesis_config import anvil_genesis
from entresol.node.opening.chain_parts import pool_config, start_clock, start_mining
from entresol.node.opening.layer_one import layer_one_rules

if TYPE_CHECKING:
    from entresol.node.config.schema import NodeConfig


def open_layer_one_alone(config: NodeConfig) -> Chain:
    """Open a temporary L1 that the sections `chain` and `evm` describe, as anvil's chain."""
    settings, evm = config.chain, config.evm
    rules = msgspec.structs.replace(
        layer_one_rules(config),
        chain_id=settings.chain_id,
        fork=settings.hardfork,
        gas_limit=settings.gas_limit,
        code_size_limit=None if evm.disable_code_size_limit else evm.code_size_limit,
        max_transactions=settings.max_transactions,
    )
    genesis = anvil_genesis(config)
    chain = Chain.open(None, rules, genesis, pool=pool_config(settings))
    # In anvil the base fee moves from block 2 on.
    chain.configure(BlockSettings(base_fee=genesis.base_fee))
    start_clock(chain, settings)
    start_mining(chain, settings)
    return chain
