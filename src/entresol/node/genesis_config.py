"""The genesis that the configuration describes, and what an existing chain must have in common with it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from entresol.chain.fees import LARGEST_BASE_FEE
from entresol.chain.genesis.accounts import ZK_STACK_ACCOUNTS
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.chain.genesis.genesis_contracts import base_token_of
from entresol.chain.genesis.stored_genesis import (
    ExpectedGenesis,
    account_differences,
    header_differences,
)
from entresol.contracts import artifact
from entresol.contracts.slots import Value, Word, storage_of
from entresol.errors import InvalidConfig
from entresol.node.config.schema import DEFAULT_GAS_PRICE, ETHER, ChainConfig, NodeConfig
from entresol.node.dev_features import (
    derived_accounts,
    development_accounts,
    funding,
    requested_accounts,
)
from entresol.primitives.base_token import ETHER_TOKEN, BaseToken, EtherPrice
from entresol.primitives.values import Address, Hash32
from entresol.rollup.system_contracts import (
    ASSET_ROUTER,
    CONTRACTS,
    DEPLOYERS,
    DETERMINISTIC_PROXY,
    PROXY_CODE,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from entresol.l1.deployment import Deployment, RegisteredChain
    from entresol.node.config.evm import EvmConfig

_L1_VARIABLES: Final = {
    "L1_CHAIN_ID": "--l1-chain-id or --l1-url: the chain id of its L1",
    "L1_ASSET_ROUTER": "--l1-url or --bridgehub: the asset router on its L1",
}
"""The facts of L1 that a system contract knows, and the flags that say them."""


class LayerTwoGenesis:
    """The genesis of the L2: development accounts or a file, and the system contracts.

    Contracts may differ from those of an existing chain: it keeps the ones that it was created with.
    """

    def __init__(
        self,
        config: NodeConfig,
        predeploys: Mapping[Address, GenesisAccount],
        base_token: BaseToken = ETHER_TOKEN,
    ) -> None:
        self._config = config.chain
        self._predeploys = predeploys
        self._base_token = base_token
        self._enabled = _enabled(predeploys, config.evm)
        self._file = self._load_file(config)
        self._flag = "--genesis" if config.chain.init is None else "--init"
        genesis = self._development(config) if self._file is None else self._of(self._file)
        self.expected = ExpectedGenesis(genesis, self._check)

    def _check(self, stored: Genesis, expected: Genesis) -> Iterator[str]:
        """Yield the flags whose values differ from those that a chain was created with."""
        if stored.chain_id != expected.chain_id:
            flag = "--chain-id" if self._file is None else f"{self._flag}: config.chainId"
            yield f"{flag}: {stored.chain_id}, not {expected.chain_id}"
        if self._config.timestamp not in (None, stored.timestamp):
            yield f"--timestamp: {stored.timestamp}, not {self._config.timestamp}"
        if self._config.number not in (None, stored.number):
            yield f"--number: {stored.number}, not {self._config.number}"
        yield from _settlement_differences(stored, expected)
        yield from _token_differences(stored, self._base_token)
        if self._file is None:
            yield from _funding_differences(
                self._config, stored, self._predeploys.keys(), self._base_token.unit
            )
        else:
            yield from self._file_differences(stored, self._file)

    def _file_differences(self, stored: Genesis, file: Genesis) -> Iterator[str]:
        for difference in header_differences(stored, file):
            yield f"{self._flag}: {difference}"
        predeployed = self._predeploys.keys() - file.alloc.keys()
        for address in sorted((stored.alloc.keys() | file.alloc.keys()) - predeployed):
            for difference in account_differences(address, stored, file):
                yield f"{self._flag}: {difference}"

    def _load_file(self, config: NodeConfig) -> Genesis | None:
        """Read the file that flags name; development accounts are added to that of --init."""
        file = load_file(config.chain)
        if file is None or config.chain.init is None:
            return file
        funded = {
            funded.address: GenesisAccount(balance=config.chain.balance * self._base_token.unit)
            for funded in funding(config)
        }
        return msgspec.structs.replace(file, alloc={**file.alloc, **funded})

    def _development(self, config: NodeConfig) -> Genesis:
        addresses = [account.address for account in funding(config)]
        balance = config.chain.balance * self._base_token.unit
        funded = Genesis.development(config.chain.chain_id, addresses, balance, self._enabled)
        timestamp = _now_unless(config.chain.timestamp)
        base_fee = self._base_token.ether_price.units(DEFAULT_GAS_PRICE)
        # A call on the genesis block must not cost more than one on the next block. --gas-price is
        # not part of the genesis: a chain can be opened again with another one. Neither is what L1 says later.
        return msgspec.structs.replace(
            funded,
            base_fee=min(base_fee, LARGEST_BASE_FEE),
            timestamp=timestamp,
            number=config.chain.number or 0,
        )

    def _of(self, file: Genesis) -> Genesis:
        # The accounts of a genesis file override the system contracts.
        genesis = msgspec.structs.replace(file, alloc={**self._enabled, **file.alloc})
        difference = next(_token_differences(genesis, self._base_token), None)
        if self._predeploys and difference is not None:
            raise InvalidConfig(self._flag, f"its contracts have another {difference}")
        return genesis


class LayerOneGenesis:
    """The genesis of the development L1: development accounts, and the contracts of a deployment.

    Contracts may differ from those of an existing chain, as on the L2.
    """

    def __init__(
        self,
        config: NodeConfig,
        deployment: Deployment,
        predeploys: Mapping[Address, GenesisAccount],
        timestamp: int,
    ) -> None:
        self._config = config.chain
        self._number = config.l1_blocks.l1_number
        self._deployment = deployment
        self._predeploys = predeploys
        addresses = [account.address for account in development_accounts(config.chain)]
        balance = config.chain.balance * ETHER
        enabled, blocks = _enabled(predeploys, config.evm), config.l1_blocks
        funded = Genesis.development(config.l1.l1_chain_id, addresses, balance, enabled)
        file = _load_l1_file(config) or Genesis(
            chain_id=config.l1.l1_chain_id,
            number=blocks.l1_number or 0,
            timestamp=timestamp,
            gas_limit=blocks.l1_gas_limit,
            base_fee=blocks.l1_base_fee,
            alloc={},
        )
        self._from_file = file.alloc.keys() - funded.alloc.keys()
        genesis = msgspec.structs.replace(file, alloc={**file.alloc, **funded.alloc})
        self.expected = ExpectedGenesis(genesis, self._check)

    def _check(self, stored: Genesis, expected: Genesis) -> Iterator[str]:
        """Yield the flags whose values differ from those that a chain was created with."""
        if stored.chain_id != expected.chain_id:
            yield f"--l1-chain-id: {stored.chain_id}, not {expected.chain_id}"
        if self._number not in (None, stored.number):
            yield f"--l1-number: {stored.number}, not {self._number}"
        yield from _registration_differences(stored, self._deployment)
        for address in sorted(self._from_file):
            for difference in account_differences(address, stored, expected):
                yield f"--l1-init: {difference}"
        yield from _funding_differences(
            self._config, stored, self._predeploys.keys() | self._from_file
        )


def _registration_differences(stored: Genesis, deployment: Deployment) -> Iterator[str]:
    """Yield how the chains that are registered in a genesis differ from those of a deployment."""
    first, *others = deployment.chains
    if not _is_registered(stored, deployment, first):
        yield "--data-dir: the L2 beside it is not the one that is registered on it"
    for chain in others:
        if not _is_registered(stored, deployment, chain):
            yield f"--chains: chain {chain.chain_id} is not registered on it; start in a new directory"
    for chain in deployment.chains:
        found, wanted = _registered_price(stored, deployment, chain), chain.base_token.ether_price
        if found not in (None, wanted):
            decimals = chain.base_token.decimals
            shown = (str(amount.tokens(decimals)) for amount in (found, wanted))
            yield f"--base-token-ratio: {' at the start, not '.join(shown)}"


def _registered_price(
    stored: Genesis, deployment: Deployment, chain: RegisteredChain
) -> EtherPrice | None:
    """Return the price that a chain was registered with; None if it was not."""
    (slot,) = storage_of(artifact("ZKChain"), {"_multiplierNominator": 0})
    word = _slot(stored, deployment.contracts_of(chain.chain_id).chain, slot)
    denominator, nominator = int.from_bytes(word[:16]), int.from_bytes(word[16:])
    return EtherPrice(nominator, denominator) if nominator and denominator else None


def _is_registered(stored: Genesis, deployment: Deployment, chain: RegisteredChain) -> bool:
    """Return whether a genesis has the genesis batch of a chain that a deployment registers."""
    batches: dict[Word, Value] = {0: chain.genesis_batch_hash}
    storage = storage_of(artifact("ZKChain"), {"_storedBatchHashes": batches})
    ((slot, registered),) = storage.items()
    return _slot(stored, deployment.contracts_of(chain.chain_id).chain, slot) == registered


def anvil_genesis(config: NodeConfig) -> Genesis:
    """Return the genesis that anvil has: a file's or an empty one, the accounts, and the CREATE2 deployer."""
    settings = config.chain
    file = load_file(settings) or Genesis(
        chain_id=settings.chain_id,
        number=settings.number or 0,
        timestamp=_now_unless(settings.timestamp),
        alloc={},
    )
    addresses = [account.address for account in requested_accounts(settings)]
    deployer = GenesisAccount(code=PROXY_CODE)
    predeploys = _enabled({DETERMINISTIC_PROXY: deployer}, config.evm)
    balance = settings.balance * ETHER
    funded = Genesis.development(settings.chain_id, addresses, balance, predeploys)
    return msgspec.structs.replace(
        file,
        chain_id=settings.chain_id,
        gas_limit=settings.gas_limit,
        base_fee=config.l1_blocks.l1_base_fee,
        alloc={**file.alloc, **funded.alloc},
    )


def _now_unless(given: int | None) -> int:
    return int(time.time()) if given is None else given


def _enabled(
    predeploys: Mapping[Address, GenesisAccount], config: EvmConfig
) -> dict[Address, GenesisAccount]:
    disabled = DEPLOYERS if config.disable_default_create2_deployer else {}
    return {address: account for address, account in predeploys.items() if address not in disabled}


def load_file(config: ChainConfig) -> Genesis | None:
    """Read the genesis file of the chain, if a flag names one; --timestamp and --number override its own."""
    if config.genesis is not None and config.init is not None:
        raise InvalidConfig("--init", "it cannot be combined with --genesis: both give the genesis")
    return _load(config.genesis or config.init, config.timestamp, config.number)


def _load_l1_file(config: NodeConfig) -> Genesis | None:
    file = _load(config.l1.l1_init, config.chain.timestamp, config.l1_blocks.l1_number)
    if file is not None and file.chain_id != config.l1.l1_chain_id:
        problem = f"its config.chainId is {file.chain_id}; give --l1-chain-id {file.chain_id}, too"
        raise InvalidConfig("--l1-init", problem)
    return file


def _load(path: str | None, timestamp: int | None, number: int | None) -> Genesis | None:
    if path is None:
        return None
    file = Genesis.load(Path(path))
    return msgspec.structs.replace(
        file,
        timestamp=file.timestamp if timestamp is None else timestamp,
        number=file.number if number is None else number,
    )


def has_other_contracts(stored: Genesis, expected: Genesis) -> bool:
    """Return whether the contracts in one genesis are not those in the other."""
    return _codes(stored) != _codes(expected)


def _codes(genesis: Genesis) -> dict[Address, bytes]:
    return {address: account.code for address, account in genesis.alloc.items() if account.code}


def _settlement_differences(stored: Genesis, expected: Genesis) -> Iterator[str]:
    """Yield how the L1 that the L2 was created for differs from the one of the configuration."""
    settled, settles = (ASSET_ROUTER in genesis.alloc for genesis in (stored, expected))
    if settled != settles:
        yield f"--no-l1: it was created {'with' if settled else 'without'} an L1"
    if not (settled and settles):
        return
    for name, flags in _L1_VARIABLES.items():
        (slot,) = storage_of(artifact(CONTRACTS[ASSET_ROUTER]), {name: 0})
        found, wanted = (_slot(genesis, ASSET_ROUTER, slot) for genesis in (stored, expected))
        if found != wanted:
            yield f"{flags} is {_shown(found)}, not {_shown(wanted)}"


def _token_differences(stored: Genesis, expected: BaseToken) -> Iterator[str]:
    """Yield how the token that pays for gas differs from that of the flags."""
    found = base_token_of(stored.alloc)
    if found.l1_address != expected.l1_address:
        yield f"--base-token: {_named(found)}, not {_named(expected)}"
    elif found.decimals != expected.decimals:
        yield f"--base-token-decimals: {found.decimals}, not {expected.decimals}"


def _named(token: BaseToken) -> str:
    return "ETH" if token.is_ether else f"{token.symbol} ({token.l1_address.checksummed()})"


def _funding_differences(
    config: ChainConfig, stored: Genesis, others: Collection[Address], unit: int = ETHER
) -> Iterator[str]:
    """Yield how the funded accounts differ from those of the flags; without --accounts any number fits."""
    owners = {
        address: account.balance
        for address, account in stored.alloc.items()
        if not account.code and address not in others
    }
    # The accounts of the ZK Stack are funded or not by where the chain settles, and by the version.
    derived = owners.keys() - {zk_stack_account.address for zk_stack_account in ZK_STACK_ACCOUNTS}
    possible = {
        derived_account.address for derived_account in derived_accounts(config, len(derived))
    }
    if not derived <= possible:
        stranger = min(derived - possible).checksummed()
        yield f"--mnemonic or --genesis: it funds {stranger}, which is not an account of the mnemonic"
    elif config.accounts not in (None, len(derived)):
        yield f"--accounts: {len(derived)}, not {config.accounts}"
    balance = config.balance * unit
    other = next((owner for owner in owners.values() if owner != balance), balance)
    if other != balance:
        yield f"--balance: {other / unit:,g}, not {config.balance:,}"


def _slot(genesis: Genesis, address: Address, slot: Hash32) -> Hash32:
    account = genesis.alloc.get(address)
    return Hash32.zero() if account is None else account.storage.get(slot, Hash32.zero())


def _shown(word: Hash32) -> str:
    number = int.from_bytes(word)
    return str(number) if number < 2**64 else Address(word[-20:]).checksummed()


def chain_id_of(config: ChainConfig) -> int:
    """Return the chain id of the L2."""
    file = load_file(config)
    return config.chain_id if file is None else file.chain_id
