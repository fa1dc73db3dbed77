"""The operators of the L2s of a node on a remote L1: which keys each has, and who deploys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol._native import keccak256
from entresol.errors import InvalidConfig
from entresol.l1.operator import OperatorKeys
from entresol.node.config.secrets import step_keys
from entresol.node.opening.development_keys import OPERATOR, public_keys
from entresol.primitives.values import Hash32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.node.config.schema import NodeConfig
    from entresol.primitives.values import Address


class ChainOperators:
    """The keys of each chain of a node, in its order; every account settles one chain, since its nonces are its own.

    A key that is given for the whole node is that of the first chain; the others derive theirs from it, by their ids.
    """

    def __init__(self, config: NodeConfig, chains: Sequence[NodeConfig]) -> None:
        shared = step_keys(config.l1)
        default = shared[0] or OPERATOR.secret
        self.keys: list[OperatorKeys] = []
        self.derived: set[Address] = set()
        """The accounts of derived keys, which nobody but the node can have funded."""
        for index, settings in enumerate(chains):
            given = step_keys(settings.l1)
            secrets = [
                self._derived(secret, settings.chain.chain_id)
                if index and secret is not None and secret == inherited
                else secret
                for secret, inherited in zip((given[0] or default, *given[1:]), (default, *shared[1:]), strict=True)
            ]  # fmt: skip
            assert secrets[0] is not None
            self.keys.append(OperatorKeys.of(secrets[0], *secrets[1:]))
        self._check_distinct(chains)
        self.deployer = shared[0] or self.keys[0].deployer.secret
        """The key that deploys the contracts of all chains, and administers them."""

    def _derived(self, secret: Hash32, chain_id: int) -> Hash32:
        found = derived_key(secret, chain_id)
        self.derived.update(key.address for key in OperatorKeys.of(found).keys)
        return found

    def _check_distinct(self, chains: Sequence[NodeConfig]) -> None:
        owners: dict[Hash32, int] = {}
        for settings, keys in zip(chains, self.keys, strict=True):
            chain_id = settings.chain.chain_id
            for key in keys.keys:
                if key.secret in owners:
                    raise InvalidConfig(
                        key.flag,
                        f"the chains {owners[key.secret]} and {chain_id} have the same one, and each needs an "
                        "account of its own: give each table of [[chains]] another",
                    )
            owners |= dict.fromkeys((key.secret for key in keys.keys), chain_id)


def is_public(secret: Hash32, chain_id: int) -> bool:
    """Return whether anybody can have the key of a chain: it is publicly known, or follows from one that is."""
    return any(
        secret in {public_key, derived_key(public_key, chain_id)} for public_key in public_keys()
    )


def derived_key(secret: Hash32, chain_id: int) -> Hash32:
    """Return the key of a chain that follows from a key of all chains; nobody learns that one from it."""
    return Hash32(keccak256(b"entresol: the operator of chain %d" % chain_id + bytes(secret)))


def relay_key(secret: Hash32) -> Hash32:
    """Return the key of the relay that follows from that of an operator; nobody learns that one from it."""
    return Hash32(keccak256(b"entresol: the relay" + bytes(secret)))
