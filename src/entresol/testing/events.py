"""`emitted`: assert that some lines of a test emit an event."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from entresol.testing.arguments import call_text, check_names, differences
from entresol.testing.observation import Observation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from web3.contract.contract import ContractEvent
    from web3.types import EventData


class EmittedEvents:
    """The events that matched, once the lines have run."""

    def __init__(self) -> None:
        self.events: list[EventData] = []

    @property
    def args(self) -> Mapping[str, Any]:
        """The arguments of the first event that matched."""
        return self.events[0]["args"]


@contextmanager
def emitted(event: ContractEvent, /, **args: Any) -> Iterator[EmittedEvents]:
    """Fail unless a transaction in the `with` block emits `event`, with these arguments if there are any.

    `with emitted(token.events.Transfer, to=bob) as found:`; afterwards `found.args` has all arguments.
    """
    __tracebackhide__ = True
    observed, found = _observe(event, args), EmittedEvents()
    yield found
    matches, others = _search(event, args, observed)
    if not matches:
        raise AssertionError(
            _message(f"{_expected(event, args)} was not emitted", others, observed)
        )
    found.events = matches


@contextmanager
def not_emitted(event: ContractEvent, /, **args: Any) -> Iterator[None]:
    """Fail if a transaction in the `with` block emits `event` with these arguments."""
    __tracebackhide__ = True
    observed = _observe(event, args)
    yield
    matches, _ = _search(event, args, observed)
    if matches:
        raise AssertionError(_message(f"{_expected(event, args)} was emitted", [], observed))


def _observe(event: ContractEvent, args: Mapping[str, Any]) -> Observation:
    check_names(
        args,
        [parameter["name"] for parameter in event.abi["inputs"]],
        f"the event {event.event_name}",
    )
    return Observation(event.w3, event.contract_abi or [event.abi])


def _search(
    event: ContractEvent, args: Mapping[str, Any], observed: Observation
) -> tuple[list[EventData], list[str]]:
    """Return the events that match, and what is different about the others."""
    blocks = observed.blocks
    found = event.get_logs(from_block=blocks[0], to_block=blocks[-1]) if blocks else []
    compared = [(event_log, differences(args, event_log["args"])) for event_log in found]
    others = [f"  one was, but {', '.join(different)}" for _, different in compared if different]
    return [event_log for event_log, different in compared if not different], others


def _expected(event: ContractEvent, args: Mapping[str, Any]) -> str:
    return call_text(event.event_name, args) if args else event.event_name


def _message(problem: str, others: list[str], observed: Observation) -> str:
    return "\n".join((problem, *others, observed.describe()))
