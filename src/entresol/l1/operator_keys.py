"""The operator's keys: which one signs which settlement step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

import msgspec

from entresol._native import address_of, public_key
from entresol.primitives.batches import SettlementStep
from entresol.primitives.values import Address, Hash32

if TYPE_CHECKING:
    from collections.abc import Callable

ALL_STEPS: Final = tuple(SettlementStep)

_FLAGS: Final = {
    SettlementStep.COMMIT: "--operator-key",
    SettlementStep.PROVE: "--prove-key",
    SettlementStep.EXECUTE: "--execute-key",
}


class OperatorKey(msgspec.Struct, frozen=True):
    """A private key, and the steps that it signs; its account has nonces and a balance of its own."""

    secret: Hash32
    steps: tuple[SettlementStep, ...] = ALL_STEPS

    @property
    def address(self) -> Address:
        """The account of the key."""
        return Address(address_of(public_key(self.secret)))

    @property
    def name(self) -> str:
        """The account in messages, by what it does if it does not do everything."""
        if self.steps == ALL_STEPS:
            return "the operator"
        return f"the operator that {self.describe(lambda step: f'{step.name.lower()}s')}"

    @property
    def flag(self) -> str:
        """The flag that sets the key."""
        return _FLAGS[self.steps[0]]

    def describe(self, name: Callable[[SettlementStep], str]) -> str:
        """Return the names of the steps in a sentence."""
        *names, last = map(name, self.steps)
        return f"{', '.join(names)} and {last}" if names else last

    def __repr__(self) -> str:
        """Return it without the secret."""
        return f"OperatorKey({self.address}, {self.describe(lambda step: step.name.lower())})"


class OperatorKeys(msgspec.Struct, frozen=True):
    """The distinct keys of an operator, the one that commits first; it also deploys."""

    keys: tuple[OperatorKey, ...]

    @classmethod
    def of(cls, commit: Hash32, prove: Hash32 | None = None, execute: Hash32 | None = None) -> Self:
        """Return the keys of the steps; a step without one has the key that commits."""
        steps: dict[Hash32, tuple[SettlementStep, ...]] = {}
        for step, given in zip(SettlementStep, (commit, prove, execute), strict=True):
            secret = commit if given is None else given
            steps[secret] = (*steps.get(secret, ()), step)
        return cls(tuple(OperatorKey(*item) for item in steps.items()))

    @property
    def deployer(self) -> OperatorKey:
        """The key that deploys the contracts, administers the chain and commits."""
        return self.keys[0]
