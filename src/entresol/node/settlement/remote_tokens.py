"""The token that pays for gas on an L2 whose L1 is elsewhere: as flags name it, as L1 has it, or as it is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from entresol.errors import ExecutionFailed, InvalidConfig, LayerOneMismatch, MalformedValue
from entresol.l1.contracts import Bridgehub, ZkChain, read_contract
from entresol.l1.layer_one import agreed
from entresol.node.base_tokens import FLAG, RATIO_FLAG, TokenRequest, development_base_tokens
from entresol.node.config.schema import MAX_TOKEN_DECIMALS
from entresol.node.settlement.manifest import ManifestFile
from entresol.primitives import abi
from entresol.primitives.base_token import ETHER_TOKEN, BaseToken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.l1.deployment import SettlementContracts
    from entresol.l1.layer_one import LayerOne
    from entresol.node.config.schema import NodeConfig
    from entresol.primitives.values import Address

_MAX_NAME: Final = 64
_MAX_SYMBOL: Final = 31
_WORD: Final = 32


def stored_base_tokens(chains: Sequence[NodeConfig]) -> Sequence[BaseToken]:
    """Return the tokens of chains in data directories, from these and the flags alone."""
    manifests = [ManifestFile(chain.chain).manifest for chain in chains]
    if all(manifest is None for manifest in manifests):
        return development_base_tokens(chains)
    return [ETHER_TOKEN if manifest is None else manifest.base_token for manifest in manifests]


async def requested_token(l1: LayerOne, config: NodeConfig) -> BaseToken:
    """Return the token that the flags of a new chain name; raises `InvalidConfig` if L1 has none there."""
    request = TokenRequest.of(config.chain)
    if request.token is None:
        return ETHER_TOKEN
    if isinstance(request.token, str):
        raise InvalidConfig(
            FLAG,
            f"{request.token} would be a new token of the development L1: give the address of a token on the L1 of "
            "--l1-url",
        )
    address = request.token
    shown = f"the token {address.checksummed()}"
    return request.priced(await agreed(l1, shown, lambda: read_token(l1, address)))


async def registered_token(
    l1: LayerOne, config: NodeConfig, contracts: SettlementContracts
) -> BaseToken:
    """Return the token that L1 has registered a chain with; flags need not name it, and may name no other."""
    token = await agreed(l1, "the base token", lambda: _registered(l1, contracts))
    check_flags(config, token, f"on {l1.name}")
    return token


async def _registered(l1: LayerOne, contracts: SettlementContracts) -> BaseToken:
    contract = ZkChain(l1, contracts.chain)
    address = await Bridgehub(l1, contracts.bridgehub).base_token(await contract.chain_id())
    if address == ETHER_TOKEN.l1_address:
        return ETHER_TOKEN
    price = await contract.ether_price(await l1.block_number())
    return msgspec.structs.replace(await read_token(l1, address), ether_price=price)


def check_flags(config: NodeConfig, token: BaseToken, where: str) -> None:
    """Reject flags that name another token than a chain has; its price is L1's, so a ratio may differ from it."""
    if config.chain.base_token is None:
        if config.chain.base_token_ratio is not None:
            raise InvalidConfig(RATIO_FLAG, f"it needs {FLAG}")
        return
    wanted = TokenRequest.of(config.chain).token
    if wanted != (None if token.is_ether else token.l1_address):
        found = "ether" if token.is_ether else f"{token.symbol} ({token.l1_address.checksummed()})"
        raise InvalidConfig(FLAG, f"chain {config.chain.chain_id} is paid in {found} {where}")


async def read_token(l1: LayerOne, token: Address) -> BaseToken:
    """Return the name, the symbol and the decimals that a token on L1 says; raises `InvalidConfig` if it is none."""
    shown = f"{token.checksummed()} on {l1.name}"
    if not await l1.code(token):
        raise InvalidConfig(FLAG, f"there is no contract at {shown}")
    try:
        name, symbol = [await _text(l1, token, function) for function in ("name()", "symbol()")]
        decimals = int(await read_contract(l1, token, "decimals()", "uint256"))
    except (ExecutionFailed, LayerOneMismatch) as error:
        problem = f"the contract at {shown} is not a token with a name, a symbol and decimals"
        raise InvalidConfig(FLAG, problem) from error
    if not (_is_shown(name, _MAX_NAME) and _is_shown(symbol, _MAX_SYMBOL)):
        raise InvalidConfig(
            FLAG,
            f"the token at {shown} has a name of more than {_MAX_NAME} characters, a symbol of more than "
            f"{_MAX_SYMBOL}, or one that cannot be shown",
        )
    if decimals > MAX_TOKEN_DECIMALS:
        problem = f"the token at {shown} has {decimals} decimals, and at most {MAX_TOKEN_DECIMALS} are possible"
        raise InvalidConfig(FLAG, problem)
    return BaseToken(l1_address=token, name=name, symbol=symbol, decimals=decimals)


async def _text(l1: LayerOne, token: Address, function: str) -> str:
    """Return a text of a token; that of an early one is 32 bytes."""
    output = await l1.call(token, abi.encode_call(function))
    try:
        if len(output) == _WORD:
            return output.rstrip(b"\0").decode()
        return bytes(abi.decode("(bytes)", output)[0]).decode()
    except (MalformedValue, UnicodeDecodeError):
        # It cannot be shown.
        return ""


def _is_shown(text: str, most: int) -> bool:
    return bool(text.strip()) and len(text) <= most and text.isprintable()
