"""Methods of other nodes that have no meaning here: each is rejected by name, with the reason."""

from __future__ import annotations

from typing import Final

from entresol.errors import MethodNotServed
from entresol.rpc.jsonrpc.method import ServedBy, method

_NO_ACCESS_LISTS: Final = "blocks have access lists from the fork Amsterdam on (EIP-7928), and no chain here has that fork"


class EthNotServed:
    """Methods of `eth_` that need another fork or another network; parameters of any kind are ignored."""

    prefix = "eth"

    @method(MethodNotServed, served_by=ServedBy.REPLICA)
    def get_block_access_list(self) -> None:
        """Reject: no fork here has access lists of blocks (EIP-7928)."""
        raise MethodNotServed("eth_getBlockAccessList", _NO_ACCESS_LISTS)

    @method(MethodNotServed, served_by=ServedBy.REPLICA)
    def get_block_access_list_by_block_hash(self) -> None:
        """Reject: no fork here has access lists of blocks (EIP-7928)."""
        raise MethodNotServed("eth_getBlockAccessListByBlockHash", _NO_ACCESS_LISTS)

    @method(MethodNotServed, served_by=ServedBy.REPLICA)
    def get_block_access_list_by_block_number(self) -> None:
        """Reject: no fork here has access lists of blocks (EIP-7928)."""
        raise MethodNotServed("eth_getBlockAccessListByBlockNumber", _NO_ACCESS_LISTS)

    @method(MethodNotServed, served_by=ServedBy.REPLICA)
    def get_block_access_list_raw(self) -> None:
        """Reject: no fork here has access lists of blocks (EIP-7928)."""
        raise MethodNotServed("eth_getBlockAccessListRaw", _NO_ACCESS_LISTS)

    @method(MethodNotServed, name="debug_getRawBlockAccessList", served_by=ServedBy.REPLICA)
    def get_raw_block_access_list(self) -> None:
        """Reject: no fork here has access lists of blocks (EIP-7928)."""
        raise MethodNotServed("debug_getRawBlockAccessList", _NO_ACCESS_LISTS)

    @method(MethodNotServed, served_by=ServedBy.REPLICA)
    def sign_raw_transaction(self) -> None:
        """Reject: it adds the signature of a fee payer to a transaction of Tempo, a type that no chain here accepts.

        `eth_signTransaction` signs for an account of the node; on an L2 a paymaster pays fees for others.
        """
        raise MethodNotServed(
            "eth_signRawTransaction",
            "it signs transactions of Tempo as their fee payer; eth_signTransaction signs for an account of the node",
        )
