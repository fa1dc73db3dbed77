"""Open the L2 and the development L1 of a node: genesis, data directory, mining."""

from __future__ import annotations

import contextlib
import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from entresol._native import keccak256
from entresol.chain.chain import Chain
from entresol.chain.edits import BlockSettings
from entresol.chain.fees import FeeConstants, FeeModel, L2BaseFee
from entresol.chain.genesis.accounts import (
    DEVELOPMENT_MNEMONIC,
    ZK_STACK_ACCOUNTS,
    DevAccount,
    derive,
)
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.chain.mempool import PoolConfig
from entresol.chain.rules import ChainRules
from entresol.contracts import artifact
from entresol.contracts.slots import storage_of
from entresol.errors import InvalidConfig, MalformedValue
from entresol.execution.evm_env import ValidationLimits
from entresol.l1.deployment import Deployment, RegisteredChain, SettlementContracts
from entresol.l1.development_tokens import TOKEN_REGISTRAR, Holding
from entresol.l1.embedded_genesis import deployment_accounts, fund_vault, with_pairs
from entresol.node.config.api import worker_count
from entresol.node.config.schema import ETHER
from entresol.node.dev_features import development_accounts
from entresol.node.genesis_config import (
    LayerOneGenesis,
    LayerTwoGenesis,
    anvil_genesis,
    has_other_contracts,
    load_file,
)
from entresol.primitives.assets import asset_id
from entresol.primitives.base_token import ETHER_TOKEN
from entresol.primitives.values import Address, Hash32
from entresol.rollup.commitments import StoredBatchInfo
from entresol.rollup.deterministic_deployers import DEPLOYERS
from entresol.rollup.system_contracts import (
    CONTRACTS,
    MULTICALL,
    InteropGenesis,
    backed_balance,
    system_genesis,
)
from entresol.storage.database.directory import FORMAT_FILE
from entresol.storage.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from entresol.chain.genesis.stored_genesis import ExpectedGenesis
    from entresol.node.config.schema import ChainConfig, NodeConfig
    from entresol.primitives.base_token import BaseToken
    from entresol.storage.store import Store

log = logging.getLogger(__name__)

OPERATOR: Final = DevAccount.from_secret(Hash32(keccak256(b"entresol: the development operator")))
"""The operator of the development L1, which deploys and settles there; its key is publicly known."""


def operator_of(index: int) -> DevAccount:
    """Return the operator of one of the L2s on the development L1; that of the first one deploys, too."""
    if index == 0:
        return OPERATOR
    name = b"entresol: the development operator of L2 %d" % index
    return DevAccount.from_secret(Hash32(keccak256(name)))


RELAY: Final = DevAccount.from_secret(Hash32(keccak256(b"entresol: the development relay")))
"""The account of the relay on the development L1 and its L2s; its key is publicly known."""

PUBLIC_KEYS: Final = 20
"""How many accounts of the development mnemonic tools show at most, unless more are requested."""

L1_FOLDER: Final = "l1"
"""The folder of the development L1 in the data directory."""

_CONTRACT_NONCE: Final = 1
_MAX_VAULT_BALANCE: Final = 2**128
"""Limit of the vault's genesis balance, so that it does not overflow by deposits."""
_MAX_SUPPLY: Final = 2**255
"""Limit of what accounts have of a token in the genesis, so that anybody can still mint some."""


def open_layer_two(
    config: NodeConfig,
    l1_chain_id: int | None,
    contracts: SettlementContracts | None,
    store: Store | None = None,
    *,
    base_token: BaseToken = ETHER_TOKEN,
    neighbours: Mapping[int, BaseToken] | None = None,
) -> tuple[Chain, FeeModel]:
    """Open the L2, with the system contracts in its genesis if it settles on an L1; `store` is that of a replica.

    In a new genesis it knows its `neighbours`, the chains beside it, with what pays for gas there.
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
    expected = LayerTwoGenesis(config, predeploys, base_token).expected
    genesis = expected.genesis
    if genesis.chain_id == l1_chain_id:
        raise InvalidConfig(
            "--chain-id",
            f"the L1 has {l1_chain_id}, too; give the development L1 another one by --l1-chain-id, or "
            "start without an L1 by --no-l1",
        )
    chain, fees = open_with_genesis(config, expected, store=store, base_token=base_token)
    if store is None:
        _report_contracts(chain, genesis, "system contracts")
    return chain, fees


def _interop(
    l1_chain_id: int, contracts: SettlementContracts, neighbours: Mapping[int, BaseToken]
) -> InteropGenesis | None:
    registrar = contracts.chain_registration_sender
    if registrar is None:
        return None
    assets = {it: asset_id(l1_chain_id, token.l1_address) for it, token in neighbours.items()}
    return InteropGenesis(registrar, assets)


def open_with_genesis(
    config: NodeConfig,
    expected: ExpectedGenesis,
    *,
    is_synced: bool = True,
    store: Store | None = None,
    base_token: BaseToken = ETHER_TOKEN,
) -> tuple[Chain, FeeModel]:
    """Open an L2 with this genesis; without `is_synced`, a power cut may undo what something else restores.

    Gas costs `--gas-price` at what ether costs in `base_token`, until L1 has another price.
    """
    genesis, settings, evm = expected.genesis, config.chain, config.evm
    fees = _fee_model(settings, base_token)
    rules = msgspec.structs.replace(
        ChainRules.layer_2(genesis.chain_id),
        fork=settings.hardfork,
        gas_limit=settings.gas_limit,
        code_size_limit=None if evm.disable_code_size_limit else evm.code_size_limit,
        caps_gas=evm.enable_tx_gas_limit,
        fees=L2BaseFee(fees),
        beneficiary=_fee_recipient(settings),
        max_transactions=settings.max_transactions,
    )
    is_replica = store is not None
    store = store or _new_store(config, _path(settings), is_synced=is_synced)
    chain = _open(store, rules, expected, _pool(settings))
    if is_replica:
        return chain, fees
    fees.repriced.add(chain.reprice)
    _start_clock(chain, settings)
    _start_mining(chain, settings)
    return chain, fees


def _fee_model(settings: ChainConfig, base_token: BaseToken) -> FeeModel:
    constants = FeeConstants(minimal_l2_gas_price=settings.gas_price)
    price = None if base_token.is_ether else base_token.ether_price
    try:
        return FeeModel(constants, ether_price=price)
    except ValueError as error:
        raise InvalidConfig("--base-token-ratio", str(error)) from error


def open_layer_one(
    config: NodeConfig,
    layer_twos: Sequence[Chain],
    store: Store | None = None,
    *,
    base_tokens: Sequence[BaseToken] | None = None,
) -> Chain:
    """Open the development L1, on which L2s are registered from genesis; `store` is that of a replica.

    `base_tokens` are those of the L2s, which are ether by default.
    """
    rules = _layer_one_rules(config)
    tokens = base_tokens or [ETHER_TOKEN] * len(layer_twos)
    deployment = development_deployment(config, layer_twos, tokens)
    accounts = deployment_accounts(deployment, rules.fork, _balance(config))
    amounts = {it.rules.chain_id: _vault_balance(it) for it in layer_twos}
    predeploys = fund_vault(accounts, deployment, amounts, _holdings(config, tokens))
    predeploys = with_pairs(predeploys, deployment)
    predeploys |= {
        it.address: GenesisAccount(balance=_balance(config))
        for it in (RELAY, *map(operator_of, range(1, len(layer_twos))))
    }
    codes = {MULTICALL: _system_code(MULTICALL), **DEPLOYERS}
    predeploys |= {
        address: GenesisAccount(code=code, nonce=_CONTRACT_NONCE) for address, code in codes.items()
    }
    expected = LayerOneGenesis(
        config, deployment, predeploys, layer_twos[0].genesis.timestamp
    ).expected
    blocks, path = config.l1_blocks, _path(config.chain)
    pool = msgspec.structs.replace(_pool(config.chain), order=blocks.l1_order)
    folder = None if path is None else path / L1_FOLDER
    is_replica = store is not None
    if folder is not None and not is_replica:
        _check_not_lost(folder, layer_twos)
    chain = _open(store or _new_store(config, folder), rules, expected, pool)
    if is_replica:
        return chain
    _report_contracts(chain, expected.genesis, "settlement contracts")
    _start_clock(chain, config.chain)
    if blocks.l1_block_time is not None:
        chain.schedule.seal_every(blocks.l1_block_time, time.monotonic())
    elif config.l1.l1_delay:
        chain.schedule.seal_after(config.l1.l1_delay)
    for it in layer_twos:
        contract = deployment.contracts_of(it.rules.chain_id).chain
        limit_requests(chain, contract, it.rules.gas_limit)
    return chain


def _check_not_lost(folder: Path, layer_twos: Sequence[Chain]) -> None:
    """Reject to create an L1 below an L2 that has blocks: it would know nothing of their deposits and batches."""
    begun = next((it for it in layer_twos if it.number > it.ledger.first), None)
    if begun is not None and not (folder / FORMAT_FILE).exists():
        raise InvalidConfig(
            "--data-dir",
            f"chain {begun.rules.chain_id} is at block {begun.number}, and its L1 is missing in {folder}: restore both "
            "from one copy, or give a new directory",
        )


def _holdings(config: NodeConfig, tokens: Iterable[BaseToken]) -> list[Holding]:
    """Return what the development accounts have of each base token on the development L1."""
    created = {it.l1_address: it for it in tokens if not it.is_ether}
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
    return min(backed_balance(layer_two.genesis.alloc), _MAX_VAULT_BALANCE)


def _new_store(config: NodeConfig, path: Path | None, *, is_synced: bool = True) -> Store:
    """Open the store of a chain, or a temporary one; workers read it, too."""
    shared = worker_count(config.api) > 1
    if path is None:
        return Store.temporary(shared=shared)
    return Store.open(path, is_synced=is_synced, shared=shared)


def _open(store: Store, rules: ChainRules, expected: ExpectedGenesis, pool: PoolConfig) -> Chain:
    with contextlib.ExitStack() as cleanup:
        cleanup.callback(store.close)
        chain = Chain(store, rules, expected, pool=pool)
        cleanup.pop_all()
    return chain


def _layer_one_rules(config: NodeConfig) -> ChainRules:
    evm = config.evm
    return msgspec.structs.replace(
        ChainRules.layer_1(config.l1.l1_chain_id),
        fork=evm.l1_hardfork,
        gas_limit=config.l1_blocks.l1_gas_limit,
        code_size_limit=None if evm.l1_disable_code_size_limit else evm.l1_code_size_limit,
        caps_gas=evm.enable_tx_gas_limit,
        suggested_tip=config.l1_blocks.l1_tip,
        epoch_slots=config.l1_blocks.l1_slots_in_an_epoch,
    )


def open_layer_one_alone(config: NodeConfig) -> Chain:
    """Open a temporary L1 that the sections `chain` and `evm` describe, as anvil's chain."""
    settings, evm = config.chain, config.evm
    rules = msgspec.structs.replace(
        _layer_one_rules(config),
        chain_id=settings.chain_id,
        fork=settings.hardfork,
        gas_limit=settings.gas_limit,
        code_size_limit=None if evm.disable_code_size_limit else evm.code_size_limit,
        max_transactions=settings.max_transactions,
    )
    genesis = anvil_genesis(config)
    chain = Chain.open(None, rules, genesis, pool=_pool(settings))
    # In anvil the base fee moves from block 2 on.
    chain.configure(BlockSettings(base_fee=genesis.base_fee))
    _start_clock(chain, settings)
    _start_mining(chain, settings)
    return chain


def limit_requests(layer_one: Chain, contract: Address, gas_limit: int) -> None:
    """Set the maximum gas of a request on the development L1 to what a block of the L2 has.

    By an edit, and not in the genesis: a chain can be opened again with another gas limit.
    """
    values = {"_priorityTxMaxGasLimit": gas_limit}
    ((slot, value),) = storage_of(artifact("ZKChain"), values).items()
    if layer_one.latest.slot(contract, slot) != value:
        layer_one.edit(contract, lambda overlay: overlay.set_slot(contract, slot, value))


def _pool(config: ChainConfig) -> PoolConfig:
    return PoolConfig(
        order=config.order,
        limit=config.pool_limit,
        limit_bytes=config.pool_limit_bytes,
        queue_seconds=config.pool_lifetime_seconds,
        validation=ValidationLimits(enforces_rules=not config.disable_validation_rules),
    )


def development_deployment(
    config: NodeConfig, layer_twos: Sequence[Chain], base_tokens: Sequence[BaseToken]
) -> Deployment:
    """Return the deployment that registers L2s on the development L1, each with an operator of its own."""
    registered = (
        RegisteredChain(
            chain_id=it.rules.chain_id,
            operator=operator_of(index).address,
            genesis_batch_hash=genesis_batch_hash(it),
            base_token=base_token,
        )
        for index, (it, base_token) in enumerate(zip(layer_twos, base_tokens, strict=True))
    )
    return Deployment(
        l1_chain_id=config.l1.l1_chain_id,
        deployer=OPERATOR.address,
        chains=tuple(registered),
        registrar=TOKEN_REGISTRAR,
    )


def public_keys() -> Iterator[Hash32]:
    """Yield the keys that are publicly known, as those of development accounts."""
    known = (OPERATOR, RELAY, *ZK_STACK_ACCOUNTS, *derive(DEVELOPMENT_MNEMONIC, PUBLIC_KEYS))
    return (account.secret for account in known)


def chain_id_of(config: ChainConfig) -> int:
    """Return the chain id of the L2."""
    file = load_file(config)
    return config.chain_id if file is None else file.chain_id


def genesis_batch_hash(chain: Chain) -> Hash32:
    """Return the hash of the genesis batch, which L1 stores for a registered chain."""
    return StoredBatchInfo.genesis(chain.blocks.header(chain.ledger.first).state_root).hash()


def _start_clock(chain: Chain, config: ChainConfig) -> None:
    """Let the clock of a chain with a given genesis time continue from its last block, as anvil does."""
    if config.timestamp is not None:
        chain.clock.set_time(chain.head.timestamp)


def _start_mining(chain: Chain, config: ChainConfig) -> None:
    if config.block_time is not None:
        now = time.monotonic()
        chain.schedule.seal_every(config.block_time, now, mixed=config.mixed_mining)
    elif config.mixed_mining:
        raise InvalidConfig("--mixed-mining", "it needs --block-time")
    elif not config.mining:
        chain.schedule.seal_on_request()


def _report_contracts(chain: Chain, expected: Genesis, contracts: str) -> None:
    if has_other_contracts(chain.genesis, expected):
        where = chain.blocks.path
        log.info(
            "%s was created with other %s than this version's, and keeps them", where, contracts
        )


def _fee_recipient(config: ChainConfig) -> Address:
    if config.fee_recipient is None:
        return Address.zero()
    try:
        return Address.parse(config.fee_recipient)
    except MalformedValue as error:
        raise InvalidConfig("--fee-recipient", error.problem) from error


def _system_code(address: Address) -> bytes:
    return bytes(artifact(CONTRACTS[address]).runtime)


def _balance(config: NodeConfig) -> int:
    return config.chain.balance * ETHER


def _path(config: ChainConfig) -> Path | None:
    return None if config.data_dir is None else Path(config.data_dir)
