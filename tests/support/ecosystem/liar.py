"""A chain that makes a token out of nothing, and sends it to others."""

from __future__ import annotations

from entresol.contracts import artifact
from entresol.contracts.slots import storage_of
from entresol.inprocess.bridge import Bridge
from entresol.inprocess.interop.bundle import SentBundle
from entresol.primitives.base_token import asset_id
from entresol.primitives.values import Address, Hash32
from tests.support.ecosystem.residents import Resident
from tests.support.rollup.pair import L1_CHAIN_ID, USER

HELD = 5_000
SENDER = USER.checksummed()


class Liar:
    """The operator of a chain, who edits what its user has of a token of L1 there, of which the chain has a little.

    L1 books what it sends as long as it has so much in its books, and nothing else.
    """

    def __init__(self) -> None:
        self.forged = 0
        """How much was made out of nothing."""
        self.token: Address | None = None

    def meet(self, resident: Resident, bridge: Bridge) -> None:
        """Use the chain of a node that has just started."""
        self._resident = resident
        self._bridge = bridge
        if self.token is None:
            self.token = resident.pair.create_token(10**30)
            resident.approve(self.token)
            resident.deposit(self.token, HELD)

    @property
    def asset(self) -> Hash32:
        """The asset id of the token."""
        assert self.token is not None
        return asset_id(L1_CHAIN_ID, self.token)

    def send(self, destination: Bridge, forged: int, part: float) -> SentBundle:
        """Make some out of nothing, and send a part of everything that the user has then."""
        token = self._bridge.l2_token(str(self.token))
        self.forge(forged)
        held = token.functions.balanceOf(SENDER).call()
        amount = max(1, int(held * part))
        return self._bridge.send(amount, chain=destination, token=token.address, sender=SENDER)

    def forge(self, amount: int) -> None:
        """Make some out of nothing."""
        token = self._bridge.l2_token(str(self.token))
        held, supply = (
            entry.call()
            for entry in (token.functions.balanceOf(SENDER), token.functions.totalSupply())
        )
        edited = {"balanceOf": {USER: held + amount}, "totalSupply": supply + amount}
        for slot, word in storage_of(artifact("BridgedStandardERC20"), edited).items():
            self._resident.pair.l2("anvil_setStorageAt", token.address, str(slot), str(word))
        self.forged += amount

    def pay(self) -> None:
        """Deposit what was made out of nothing."""
        assert self.token is not None
        if self.forged:
            self._resident.deposit(self.token, self.forged)
