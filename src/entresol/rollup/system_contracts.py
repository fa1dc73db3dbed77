"""The system contracts in an L2's genesis: addresses, code and storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from entresol import _native
from entresol.chain.genesis.genesis import GenesisAccount
from entresol.contracts import artifact
from entresol.contracts.slots import Value, Word, storage_of
from entresol.execution import account_senders
from entresol.primitives.base_token import (
    ETHER_TOKEN,
    L2_ASSET_ROUTER,
    L2_BASE_TOKEN,
    L2_NATIVE_TOKEN_VAULT,
    BaseToken,
    asset_id,
)
from entresol.primitives.interop_bundles import BASE_TOKEN_HOLDER, INTEROP_CENTER, INTEROP_HANDLER
from entresol.primitives.interop_roots import MESSAGE_VERIFICATION, ROOT_STORAGE
from entresol.primitives.l2_to_l1_logs import BOOTLOADER, L1_MESSENGER
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Mapping

NONCE_HOLDER: Final = account_senders.NONCE_HOLDER
CONTRACT_DEPLOYER: Final = account_senders.CONTRACT_DEPLOYER
BASE_TOKEN: Final = L2_BASE_TOKEN
ASSET_ROUTER: Final = L2_ASSET_ROUTER
NATIVE_TOKEN_VAULT: Final = L2_NATIVE_TOKEN_VAULT
MULTICALL: Final = Address.parse("0xca11bde05977b3631167028862be2a173976ca11")
ACCOUNT_VERSION: Final = _native.ACCOUNT_VERSION
"""The version of accounts that the node calls; a chain whose bootloader has none calls no accounts."""
INTEROP_CONTRACTS: Final = {
    ROOT_STORAGE: "L2InteropRootStorage",
    MESSAGE_VERIFICATION: "L2MessageVerification",
    INTEROP_CENTER: "InteropCenter",
    INTEROP_HANDLER: "InteropHandler",
    BASE_TOKEN_HOLDER: "BaseTokenHolder",
}
"""The contracts of chains that send bundles to each other."""
INTEROP_FEE: Final = 10**12
"""The cost of a call of a bundle, in wei."""
HELD: Final = 2**127 - 1
"""The balance of the holder in the genesis, backed by nothing and part of no sum: bundles bring base tokens from it."""
_SALTED: Final = {NATIVE_TOKEN_VAULT: "BRIDGED_TOKEN_SALT", CONTRACT_DEPLOYER: "_countSalt"}
"""The variables of a copy's contracts that give what they deploy other addresses than on the copied chain."""
# The nonce of a contract after its creation.
_FIRST_NONCE: Final = 1
DETERMINISTIC_PROXY: Final = Address.parse("0x4e59b44847b379578588920ca78fbf26c0b4956c")
"""Takes a salt followed by init code, and returns the address."""
SAFE_FACTORY: Final = Address.parse("0x914d7fec6aac8cd542e72bca78b30650d45643d7")
"""The same, deployed by a key of its makers."""
SINGLETON_FACTORY: Final = Address.parse("0xce0042b868300000d44a59004da54a005ffdcf9f")
"""The factory of ERC-2470, with a function `deploy(bytes,bytes32)`."""
PROXY_CODE: Final = bytes.fromhex(
    "7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe03601600081602082378035828234f5"
    "8015156039578182fd5b8082525050506014600cf3"
)
SINGLETON_CODE: Final = bytes.fromhex(
    "6080604052348015600f57600080fd5b506004361060285760003560e01c80634af63f0214602d575b600080fd5b60cf60"
    "048036036040811015604157600080fd5b810190602081018135640100000000811115605b57600080fd5b820183602082"
    "011115606c57600080fd5b80359060200191846001830284011164010000000083111715608d57600080fd5b91908080601f"
    "016020809104026020016040519081016040528093929190818152602001838380828437600092019190915250929550509135"
    "925060eb915050565b604080516001600160a01b039092168252519081900360200190f35b6000818351602085016000f5"
    "939250505056fea26469706673582212206b44f8a82cb6b156bfcc3dc6aadd6df4eefd204bc928a4397fd15dacf6d53205"
    "64736f6c63430006020033"
)
DEPLOYERS: Final = {
    DETERMINISTIC_PROXY: PROXY_CODE,
    SAFE_FACTORY: PROXY_CODE,
    SINGLETON_FACTORY: SINGLETON_CODE,
}


def _at(number: int) -> Address:
    return Address(number.to_bytes(20))


SYSTEM_CONTEXT: Final = _at(0x800B)
CREATE2_FACTORY: Final = _at(0x10000)
BRIDGEHUB: Final = _at(0x10002)
MESSAGE_ROOT: Final = _at(0x10005)
BRIDGED_TOKEN_CODE: Final = _at(0x10104)
"""The implementation that bridged tokens delegate to; the address is this project's own choice."""
TESTNET_PAYMASTER: Final = _at(0x10105)
"""The paymaster of development chains; the address is this project's own choice, too."""


CONTRACTS: Final = {
    BOOTLOADER: "Bootloader",
    NONCE_HOLDER: "NonceHolder",
    CONTRACT_DEPLOYER: "ContractDeployer",
    L1_MESSENGER: "L1Messenger",
    BASE_TOKEN: "L2BaseToken",
    SYSTEM_CONTEXT: "SystemContext",
    CREATE2_FACTORY: "Create2Factory",
    BRIDGEHUB: "L2Bridgehub",
    ASSET_ROUTER: "L2AssetRouter",
    NATIVE_TOKEN_VAULT: "L2NativeTokenVault",
    MESSAGE_ROOT: "L2MessageRoot",
    BRIDGED_TOKEN_CODE: "BridgedStandardERC20",
    MULTICALL: "Multicall3",
}
"""The name of the contract at each address."""


class InteropGenesis(NamedTuple):
    """The facts that a chain that sends bundles knows in its genesis."""

    registrar: Address
    """The contract on L1 that tells it of other chains."""
    neighbours: Mapping[int, Hash32] = {}
    """The chains that it knows from the start, with their base tokens' asset ids."""


def backed_balance(alloc: Mapping[Address, GenesisAccount]) -> int:
    """Return the base tokens in a genesis that L1 holds: all but the holder's."""
    return sum(
        account.balance for address, account in alloc.items() if address != BASE_TOKEN_HOLDER
    )


def system_genesis(
    *,
    l1_chain_id: int,
    l1_asset_router: Address,
    base_token: BaseToken = ETHER_TOKEN,
    l1_takes_l2_tokens: bool = False,
    paymaster_balance: int | None = None,
    interop: InteropGenesis | None = None,
) -> dict[Address, GenesisAccount]:
    """Return the contracts of an L2 that settles on `l1_chain_id`, for its genesis.

    Deposits come from the asset router of L1. `base_token` pays for gas. `l1_takes_l2_tokens` allows withdrawals of L2
    tokens, which the vault of L1 must be able to represent. Without a `paymaster_balance` there is no testnet
    paymaster: one that pays all fees runs out of funds. Without `interop` the chain sends no bundles, as those of
    protocol version 30.
    """
    storage = {
        BOOTLOADER: storage_of(
            artifact(CONTRACTS[BOOTLOADER]),
            {"supportedAccountVersion": ACCOUNT_VERSION, "chargesFactoryDeps": True},
        ),
        ASSET_ROUTER: storage_of(
            artifact(CONTRACTS[ASSET_ROUTER]),
            {"L1_CHAIN_ID": l1_chain_id, "L1_ASSET_ROUTER": l1_asset_router},
        ),
        NATIVE_TOKEN_VAULT: _vault_storage(
            l1_chain_id, base_token.l1_address, l1_takes_l2_tokens=l1_takes_l2_tokens
        ),
        BASE_TOKEN: storage_of(
            artifact(CONTRACTS[BASE_TOKEN]),
            {"name": base_token.name, "symbol": base_token.symbol, "decimals": base_token.decimals},
        ),
    }
    names = dict(CONTRACTS)
    if interop is not None:
        names |= INTEROP_CONTRACTS
        storage |= _interop_storage(interop, base_token)
    codes = {address: bytes(artifact(name).runtime) for address, name in names.items()}
    accounts = {
        address: GenesisAccount(code=code, nonce=_FIRST_NONCE, storage=storage.get(address, {}))
        for address, code in (codes | DEPLOYERS).items()
    }
    if interop is not None:
        holder = accounts[BASE_TOKEN_HOLDER]
        accounts[BASE_TOKEN_HOLDER] = msgspec.structs.replace(holder, balance=HELD)
    if paymaster_balance is not None:
        accounts[TESTNET_PAYMASTER] = GenesisAccount(
            code=_paymaster_code(), nonce=_FIRST_NONCE, balance=paymaster_balance
        )
    return accounts


def with_salt(
    accounts: Mapping[Address, GenesisAccount], salt: Hash32
) -> dict[Address, GenesisAccount]:
    """Return the contracts of a copy of a chain: what others like them deployed there keeps its addresses."""
    salted = dict(accounts)
    for address, variable in _SALTED.items():
        slots = storage_of(artifact(CONTRACTS[address]), {variable: salt})
        account = accounts[address]
        salted[address] = msgspec.structs.replace(account, storage={**account.storage, **slots})
    return salted


def _interop_storage(
    interop: InteropGenesis, base_token: BaseToken
) -> dict[Address, dict[Hash32, Hash32]]:
    known: dict[Word, Value] = {chain_id: asset for chain_id, asset in interop.neighbours.items()}  # noqa: C416 - typed
    return {
        BRIDGEHUB: storage_of(
            artifact(CONTRACTS[BRIDGEHUB]),
            {"chainRegistrationSender": interop.registrar, "_baseTokens": known},
        ),
        INTEROP_CENTER: storage_of(
            artifact(INTEROP_CONTRACTS[INTEROP_CENTER]),
            {"interopProtocolFee": base_token.ether_price.units(INTEROP_FEE)},
        ),
    }


def _paymaster_code() -> bytes:
    """Return the paymaster's code, padded so that clients can hash it like EraVM bytecode."""
    code = bytes(artifact("TestnetPaymaster").runtime)
    words = (len(code) + 31) // 32 | 1
    return code.ljust(32 * words, b"\0")


def _vault_storage(
    l1_chain_id: int, base_token: Address, *, l1_takes_l2_tokens: bool
) -> dict[Hash32, Hash32]:
    """Return the vault's storage at genesis: the L1 it settles on, and the base token."""
    base = asset_id(l1_chain_id, base_token)
    return storage_of(
        artifact(CONTRACTS[NATIVE_TOKEN_VAULT]),
        {
            "L1_CHAIN_ID": l1_chain_id,
            "BASE_TOKEN_ASSET_ID": base,
            "L1_TAKES_L2_TOKENS": l1_takes_l2_tokens,
            "assetId": {BASE_TOKEN: base},
            "originChainId": {base: l1_chain_id},
            "tokenAddress": {base: BASE_TOKEN},
            "originToken": {base: base_token},
        },
    )
