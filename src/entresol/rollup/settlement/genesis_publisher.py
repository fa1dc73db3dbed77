"""Publish the genesis of a chain on L1 before its first batch is committed."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from typing import TYPE_CHECKING, Final

from entresol.errors import GenesisNotPublished, LayerOneMismatch
from entresol.l1.availability.genesis_parts import publication_steps, read_parts
from entresol.primitives.published.genesis import has_genesis_hash
from entresol.primitives.values import Hash32
from entresol.rollup.step_loop import Backoff, StepLoop, Stepping

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from entresol.l1.availability.genesis_parts import GenesisParts
    from entresol.l1.contracts import ZkChain
    from entresol.l1.layer_one import L1Finality
    from entresol.primitives.values import Address
    from entresol.rollup.settlement.settler import Settler
    from entresol.storage.batch_table import BatchTable

log = logging.getLogger(__name__)

INCLUSION_SECONDS: Final = 60.0
"""How long L1 may take to include what was sent, before it is sent again."""
POLL_SECONDS: Final = 0.5
WATCH_SECONDS: Final = 12.0
"""How often L1 is asked whether it still has the genesis, until its block is confirmed."""
RETRY: Final = Backoff(1.0, 10.0)


class GenesisPublisher(Stepping):
    """Publishes the genesis once there is a batch to commit, by the key of the contract's admin.

    The settler commits nothing until L1 has it. A reorg may remove it, or put the commit first, so it is looked for
    until its block is confirmed, and published again. Fails: with the call that the admin has to make, if none of
    them has its key (`problem`), and is retried; so it is if L1 does not return the logs of what it has executed,
    which is not paid for again.
    """

    def __init__(
        self,
        batches: BatchTable,
        contract: ZkChain,
        settlers: Callable[[], Sequence[Settler]],
        *,
        confirmations: int = 0,
        finality: L1Finality = "latest",
    ) -> None:
        self._batches = batches
        self._contract = contract
        self._settlers = settlers
        self._confirmations = confirmations
        self._finality: L1Finality = finality
        self._is_published = False
        self._is_confirmed = False
        self._sent: list[Hash32] = []
        self._resets = 0
        # A step by hand may come while the loop publishes.
        self._lock = asyncio.Lock()
        self._steps = StepLoop(self._poll, log, failing="cannot publish the genesis", backoff=RETRY)

    @property
    def is_published(self) -> bool:
        """Whether L1 has all that it needs before the first commit; a chain that publishes nothing needs nothing."""
        return self._is_published or not self._batches.data(0)

    def wake(self) -> None:
        """Look at once: there is a batch; what fails or is being watched has its own pace."""
        if not self.is_published and self.problem is None:
            self._steps.wake()

    def reset(self) -> None:
        """Look again whether L1 has it: blocks of either layer were reverted."""
        self._is_published = self._is_confirmed = False
        self._sent.clear()
        self._resets += 1
        self._steps.wake()

    async def ensure(self) -> None:
        """Return once L1 has it, or has batches without it; raise why it cannot be published."""
        async with self._lock:
            while not self.is_published:
                resets = self._resets
                if not (await self._contract.totals()).committed:
                    await self._publish_unless_found()
                self._is_published = resets == self._resets

    async def _poll(self) -> float:
        last = self._batches.last()
        if last is None or not last.number or not self._batches.data(0) or self._is_confirmed:
            return math.inf
        if not self.is_published:
            await self.ensure()
            for settler in self._settlers():
                settler.wake()
        async with self._lock:
            return await self._watch()

    async def _watch(self) -> float:
        """Publish again what a reorg removed; return when to look again."""
        resets = self._resets
        block = await self._publish_unless_found()
        l1 = self._contract.l1
        confirmed = await l1.block_number(self._finality) - self._confirmations
        self._is_confirmed = block <= confirmed and resets == self._resets
        return math.inf if self._is_confirmed else WATCH_SECONDS

    async def _publish_unless_found(self) -> int:
        """Return the L1 block that has the genesis; publish what is missing."""
        parts = await self._read()
        if parts.block is None:
            await self._publish(parts)
            parts = await self._included()
        assert parts.block is not None
        return parts.block

    async def _publish(self, parts: GenesisParts) -> None:
        contract, data = self._contract, self._batches.data(0)
        if parts.is_full:
            raise GenesisNotPublished(contract.address.checksummed(), contract.l1.name, parts.logs)
        if self._sent and await self._has_executed():
            raise LayerOneMismatch(
                f"{contract.l1.name} has executed what publishes the genesis, and does not return its logs"
            )
        admin = await contract.admin()
        settler = next((settler for settler in self._settlers() if settler.has_key_of(admin)), None)
        if settler is None:
            raise self._not_admin(admin)
        log.info("publishing the genesis on %s: %d bytes", contract.l1.name, len(data))
        self._sent.clear()
        for step in publication_steps(contract.address, data, parts):
            self._sent.append(await settler.send_call(admin, contract.address, step.data))

    async def _has_executed(self) -> bool:
        """Return whether L1 has executed all that was sent last."""
        for sent in self._sent:
            receipt = await self._contract.l1.receipt(sent)
            if receipt is None or not receipt.succeeded:
                return False
        return True

    async def _included(self) -> GenesisParts:
        """Return what L1 has, once that is the genesis."""
        until = time.monotonic() + INCLUSION_SECONDS
        l1 = self._contract.l1
        while (parts := await self._read()).block is None:
            if time.monotonic() > until:
                raise LayerOneMismatch(f"{l1.name} has not included the genesis yet")
            await l1.wait_for_block(POLL_SECONDS)
        return parts

    async def _read(self) -> GenesisParts:
        """Return what L1 has of the genesis; it may be compressed otherwise than here."""
        contract, batch = self._contract, self._batches.get(0)
        assert batch is not None
        return await read_parts(
            contract.l1,
            contract.address,
            contract.first_block,
            (await contract.l1.head()).number,
            has_genesis_hash(Hash32(batch.data_commitment)),
        )

    def _not_admin(self, admin: Address) -> LayerOneMismatch:
        contract = self._contract
        return LayerOneMismatch(
            f"the node has no key of {admin.checksummed()}, the admin of the chain: before its first batch is committed, "
            f"the admin has to call publishGenesis of {contract.address.checksummed()} on {contract.l1.name} with what "
            "the chain publishes of its genesis; start once with --operator-key-file of the admin"
        )
