"""Open the development L1 of a node, with the L2s that are registered on it from genesis."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from entresol.chain.chain import Chain
from entresol.chain.clock import LATEST, ClockState
from entresol.chain.genesis.genesis import GenesisAccount
from entresol.chain.genesis.stored_genesis import ExpectedGenesis
from entresol.chain.rules import MAX_CODE_SIZE, ChainRules
from entresol.contracts import artifact
from entresol.contracts.slots import storage_of
from entresol.errors import InvalidConfig
from entresol.features.fork.config.folders import L1_FOLDER, data_path
from entresol.l1.deployment import Deployment, RegisteredChain
from entresol.l1.embedded_genesis import (
    TOKEN_REGISTRAR,
    Holding,
    deployment_accounts,
    fund_vault,
    with_pairs,
)
from entresol.node.config.schema import ETHER, NodeConfig
from entresol.node.dev_features import development_accounts
from entresol.node.genesis_config import LayerOneGenesis
from entresol.node.opening.availability import data_scheme_of
from entresol.node.opening.chain_parts import (
    closed_on_failure,
    new_store,
    pool_config,
    report_contracts,
    start_clock,
)
from entresol.node.opening.development_keys import OPERATOR, RELAY, operator_of
from entresol.node.opening.forked_genesis import begin_fork, genesis_of_fork
from entresol.primitives.base_token import ETHER_TOKEN, BaseToken
from entresol.primitives.values import Address
from entresol.rollup.batches import genesis_batch_hash
from entresol.rollup.system_contracts import CONTRACTS, DEPLOYERS, MULTICALL, backed_balance
from entresol.storage.database.directory import FORMAT_FILE
from entresol.storage.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from entresol.features.fork.opening.open_fork import OpenFork

_CONTRACT_NONCE: Final = 1

_MAX_VAULT_BALANCE: Final = 2**128
"""Limit of the vault's genesis balance for a chain, so that it does not overflow by deposits. It is what the vault holds
for a fork, whose supply nobody knows: more than any chain has of its base token."""

_MAX_SUPPLY: Final = 2**255
"""Limit of what accounts have of a token in the genesis, so that anybody can still mint some."""


def open_layer_one(
    config: NodeConfig,
    layer_twos: Sequence[Chain],
    store: Store | None = None,
    *,
    base_tokens: Sequence[BaseToken] | None = None,
    fork: OpenFork | None = None,
) -> Chain:
    """Open the development L1, on which L2s are registered from genesis; `store` is that of a replica.

    `base_tokens` are those of the L2s, which are ether by default.
    """
    rules = layer_one_rules(config)
    tokens = base_tokens or [ETHER_TOKEN] * len(layer_twos)
    deployment = development_deployment(config, layer_twos, tokens)
    accounts = deployment_accounts(
        deployment, rules.fork, _balance(config), salt=None if fork is None else fork.salt
    )
    amounts = {layer_two.rules.chain_id: _vault_balance(layer_two) for layer_two in layer_twos}
    predeploys = fund_vault(accounts, deployment, amounts, _holdings(config, tokens))
    predeploys = with_pairs(predeploys, deployment)
    predeploys |= {
        account.address: GenesisAccount(balance=_balance(config))
        for account in (RELAY, *map(operator_of, range(1, len(layer_twos))))
    }
    codes = {MULTICALL: _system_code(MULTICALL), **DEPLOYERS}
    predeploys |= {
        address: GenesisAccount(code=code, nonce=_CONTRACT_NONCE) for address, code in codes.items()
    }
    if fork is None:
        time_of_l2 = layer_twos[0].genesis.timestamp
        expected = LayerOneGenesis(config, deployment, predeploys, time_of_l2).expected
    else:
        funded = [
            development_account.address
            for development_account in development_accounts(config.chain)
        ]
        expected = ExpectedGenesis(
            genesis_of_fork(fork, rules.chain_id, funded, _balance(config), predeploys)
        )
    blocks, path = config.l1_blocks, data_path(config.chain)
    pool = msgspec.structs.replace(pool_config(config.chain), order="fees")
    folder = None if path is None else path / L1_FOLDER
    is_replica = store is not None
    if folder is not None and not is_replica:
        _check_not_lost(folder, layer_twos)
    remote = None if fork is None else fork.remote.table
    store = store or new_store(config, folder)
    with closed_on_failure(store):
        chain = Chain(store, rules, expected, pool=pool, remote=remote)
    if is_replica:
        return chain
    with closed_on_failure(chain):
        begin_fork(chain, fork)
        report_contracts(chain, expected.genesis, "settlement contracts")
        start_clock(chain, config.chain)
        _agree_on_time(chain, layer_twos)
        if blocks.l1_block_time is not None:
            chain.schedule.seal_every(blocks.l1_block_time, time.monotonic())
        elif config.l1.l1_delay:
            chain.schedule.seal_after(config.l1.l1_delay)
        for layer_two in layer_twos:
            contract = deployment.contracts_of(layer_two.rules.chain_id).chain
            limit_requests(chain, contract, layer_two.rules.gas_limit)
    return chain


def _agree_on_time(layer_one: Chain, layer_twos: Sequence[Chain]) -> None:
    """Let the time of all layers go on from the latest block of any, if one of them is a fork.

    The blocks that two forks stand on are not of the same second, and an L2 settles at a time that its L1 has reached.
    """
    layers = (layer_one, *layer_twos)
    if all(layer.ledger.anchor is None for layer in layers):
        return
    given = [layer.clock.now() for layer in layers if layer.clock.state != ClockState()]
    latest = max(*given, *(layer.head.timestamp for layer in layers))
    for layer in layers:
        layer.clock.set_time(min(latest, LATEST))


def _check_not_lost(folder: Path, layer_twos: Sequence[Chain]) -> None:
    """Reject to create an L1 below an L2 that has blocks: it would know nothing of their deposits and batches."""
    begun = next(
        (layer_two for layer_two in layer_twos if layer_two.number > layer_two.ledger.first), None
    )
    if begun is not None and not (folder / FORMAT_FILE).exists():
        raise InvalidConfig(
            "--data-dir",
            f"chain {begun.rules.chain_id} is at block {begun.number}, and its L1 is missing in {folder}: restore both "
            "from one copy, or give a new directory",
        )


def _holdings(config: NodeConfig, tokens: Iterable[BaseToken]) -> list[Holding]:
    """Return what the development accounts have of each base token on the development L1."""
    created = {token.l1_address: token for token in tokens if not token.is_ether}
    owners, balance = development_accounts(config.chain), config.chain.balance
    for token in created.values():
        if len(owners) * balance * token.unit > _MAX_SUPPLY:
            problem = (
                f"so many {token.symbol} of {len(owners)} accounts are more than a token can have"
            )
            raise InvalidConfig("--balance", problem)
    return [
        Holding(token.l1_address, owner.address, balance * token.unit)
        for token in created.values()
        for owner in owners
    ]


def _vault_balance(layer_two: Chain) -> int:
    """Return the base tokens in the genesis of an L2, which the vault on L1 holds."""
    if layer_two.ledger.anchor is not None:
        return _MAX_VAULT_BALANCE
    return min(backed_balance(layer_two.genesis.alloc), _MAX_VAULT_BALANCE)


def limit_requests(layer_one: Chain, contract: Address, gas_limit: int) -> None:
    """Set the maximum gas of a request on the development L1 to what a block of the L2 has.

    By an edit, and not in the genesis: a chain can be opened again with another gas limit.
    """
    values = {"_priorityTxMaxGasLimit": gas_limit}
    ((slot, value),) = storage_of(artifact("ZKChain"), values).items()
    if layer_one.latest.slot(contract, slot) != value:
        layer_one.edit(contract, lambda overlay: overlay.set_slot(contract, slot, value))


def development_deployment(
    config: NodeConfig, layer_twos: Sequence[Chain], base_tokens: Sequence[BaseToken]
) -> Deployment:
    """Return the deployment that registers L2s on the development L1, each with an operator of its own."""
    registered = (
        RegisteredChain(
            chain_id=chain.rules.chain_id,
            operator=operator_of(index).address,
            genesis_batch_hash=genesis_batch_hash(chain),
            base_token=base_token,
            is_development=chain.rules.is_development,
            data_scheme=data_scheme_of(chain),
        )
        for index, (chain, base_token) in enumerate(zip(layer_twos, base_tokens, strict=True))
    )
    return Deployment(
        l1_chain_id=config.l1.l1_chain_id,
        deployer=OPERATOR.address,
        chains=tuple(registered),
        registrar=TOKEN_REGISTRAR,
    )


def _system_code(address: Address) -> bytes:
    return bytes(artifact(CONTRACTS[address]).runtime)


def _balance(config: NodeConfig) -> int:
    return config.chain.balance * ETHER


def layer_one_rules(config: NodeConfig) -> ChainRules:
    """Return the rules of the development L1."""
    evm = config.evm
    return msgspec.structs.replace(
        ChainRules.layer_1(config.l1.l1_chain_id),
        fork=evm.l1_hardfork,
        gas_limit=config.l1_blocks.l1_gas_limit,
        # The settlement contracts need what Ethereum allows.
        code_size_limit=None
        if evm.disable_code_size_limit
        else max(evm.code_size_limit, MAX_CODE_SIZE),
        caps_gas=evm.enable_tx_gas_limit,
        suggested_tip=config.l1_blocks.l1_tip,
        epoch_slots=config.l1_blocks.l1_slots_in_an_epoch,
    )
