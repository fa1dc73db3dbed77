"""Deterministic deployment proxies, predeployed at the addresses they have on other chains.

Each was deployed by a keyless transaction: its signature was chosen, and its sender recovered from that. The
address depends on every byte of the code below, by which the tests check it.
"""

from __future__ import annotations

from typing import Final

from entresol.primitives.values import Address

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
