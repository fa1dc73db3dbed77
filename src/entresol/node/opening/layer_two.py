"""Open an L2: genesis with system contracts, rules, fees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from entresol.chain.base_fee import L2BaseFee
from entresol.chain.chain import Chain
from entresol.chain.fees import FeeConstants, FeeModel
from entresol.chain.genesis.genesis import GenesisAccount
from entresol.chain.genesis.stored_genesis import ExpectedGenesis
from entresol.chain.rules import ChainRules
from entresol.errors import InvalidConfig, MalformedValue
from entresol.features.fork.config.folders import data_path
from entresol.l1.deployment import SettlementContracts
from entresol.node.dev_features import funding
from entresol.node.genesis_config import LayerTwoGenesis
from entresol.node.opening.availability import max_pubdata_of, with_availability
from entresol.node.opening.chain_parts import (
    closed_on_failure,
    new_store,
    pool_config,
    report_contracts,
    start_clock,
    start_mining,
)
from entresol.node.opening.forked_genesis import begin_fork, genesis_of_fork
from entresol.primitives.base_token import ETHER_TOKEN, BaseToken, asset_id
from entresol.primitives.values import Address
from entresol.rollup.batches import seal_genesis
from entresol.rollup.system_contracts import InteropGenesis, system_genesis, with_salt
from entresol.storage.store import Store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from entresol._native import RemoteTable
    from entresol.features.fork.opening.open_fork import OpenFork
    from entresol.node.config.schema import ChainConfig, NodeConfig


def open_layer_two(  # noqa: PLR0913 - independent parts
    config: NodeConfig,
    l1_chain_id: int | None,
    contracts: SettlementContracts | None,
    store: Store | None = None,
    *,
    base_token: BaseToken = ETHER_TOKEN,
    neighbours: Mapping[int, BaseToken] | None = None,
    fork: OpenFork | None = None,
) -> tuple[Chain, FeeModel]:
    """Open the L2, with the system contracts in its genesis if it settles on an L1; `store` is that of a replica.

    In a new genesis it knows its `neighbours`, the chains beside it, with what pays for gas there. On a `fork` the system
    contracts are laid over what the remote has.
    """
    predeploys: Mapping[Address, GenesisAccount] = {}
    if l1_chain_id is not None and contracts is not None:
        predeploys = system_genesis(
            l1_chain_id=l1_chain_id,
            l1_asset_router=contracts.asset_router,
            base_token=base_token,
            l1_takes_l2_tokens=True,
            paymaster_balance=None if config.l1.l1_url else config.chain.balance * base_token.unit,
            interop=_interop(l1_chain_id, contracts, neighbours or {}),
        )
        if fork is not None:
            predeploys = with_salt(predeploys, fork.salt)
    expected = (
        LayerTwoGenesis(config, predeploys, base_token).expected
        if fork is None
        else _expected_fork(config, predeploys, base_token, fork)
    )
    genesis = expected.genesis
    if genesis.chain_id == l1_chain_id:
        raise InvalidConfig(
            "--chain-id",
            f"the L1 has {l1_chain_id}, too; give the development L1 another one by --l1-chain-id, or "
            "start without an L1 by --no-l1",
        )
    remote = None if fork is None else fork.remote.table
    chain, fees = open_with_genesis(
        config, expected, store=store, base_token=base_token, remote=remote
    )
    with closed_on_failure(chain):
        begin_fork(chain, fork)
        if store is None and chain.rules.publishes:
            # It is compressed once, and registered on L1.
            seal_genesis(chain)
        if store is None:
            report_contracts(chain, genesis, "system contracts")
    return chain, fees


def _expected_fork(
    config: NodeConfig,
    predeploys: Mapping[Address, GenesisAccount],
    base_token: BaseToken,
    fork: OpenFork,
) -> ExpectedGenesis:
    balance = config.chain.balance * base_token.unit
    accounts = [account.address for account in funding(config)]
    return ExpectedGenesis(
        genesis_of_fork(fork, config.chain.chain_id, accounts, balance, predeploys)
    )


def _interop(
    l1_chain_id: int, contracts: SettlementContracts, neighbours: Mapping[int, BaseToken]
) -> InteropGenesis:
    registrar = contracts.chain_registration_sender
    assets = {
        chain_id: asset_id(l1_chain_id, token.l1_address) for chain_id, token in neighbours.items()
    }
    return InteropGenesis(registrar, assets)


def open_with_genesis(
    config: NodeConfig,
    expected: ExpectedGenesis,
    *,
    is_synced: bool = True,
    store: Store | None = None,
    base_token: BaseToken = ETHER_TOKEN,
    remote: RemoteTable | None = None,
) -> tuple[Chain, FeeModel]:
    """Open an L2 with this genesis; without `is_synced`, a power cut may undo what something else restores.

    Gas costs `--gas-price` at what ether costs in `base_token`, until L1 has another price.
    """
    genesis, settings, evm = expected.genesis, config.chain, config.evm
    is_replica = store is not None
    store = store or new_store(config, data_path(settings), is_synced=is_synced)
    with closed_on_failure(store):
        fees = _fee_model(settings, base_token, max_pubdata_of(config, store))
        rules = msgspec.structs.replace(
            ChainRules.layer_2(genesis.chain_id),
            fork=settings.hardfork,
            gas_limit=settings.gas_limit,
            code_size_limit=None if evm.disable_code_size_limit else evm.code_size_limit,
            caps_gas=evm.enable_tx_gas_limit,
            fees=L2BaseFee(fees),
            beneficiary=_fee_recipient(settings),
            max_transactions=settings.max_transactions,
            rejects_foreign_code=genesis.anchor is not None
            and genesis.anchor.may_have_foreign_code,
        )
        rules = with_availability(rules, config, store, is_fork=remote is not None)
        chain = Chain(store, rules, expected, pool=pool_config(settings), remote=remote)
        if is_replica:
            return chain, fees
        fees.repriced.add(chain.reprice)
        start_clock(chain, settings)
        start_mining(chain, settings)
    return chain, fees


def _fee_model(settings: ChainConfig, base_token: BaseToken, max_pubdata: int) -> FeeModel:
    constants = FeeConstants(
        minimal_l2_gas_price=settings.gas_price, max_pubdata_per_batch=max_pubdata
    )
    price = None if base_token.is_ether else base_token.ether_price
    try:
        return FeeModel(constants, ether_price=price)
    except ValueError as error:
        raise InvalidConfig("--base-token-ratio", str(error)) from error


def _fee_recipient(config: ChainConfig) -> Address:
    if config.fee_recipient is None:
        return Address.zero()
    try:
        return Address.parse(config.fee_recipient)
    except MalformedValue as error:
        raise InvalidConfig("--fee-recipient", error.problem) from error
