"""Tests that are coroutines, played within what is opened for them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, Final

_FIXTURES: Final = frozenset({"steered", "tmp_path"})


def played(
    run: Callable[..., None], **options: Any
) -> Callable[[Callable[..., Awaitable[None]]], Callable[..., None]]:
    """Return a decorator of tests that `run` plays: it opens what their first parameter is, and closes it afterwards.

    The options are those of `run`, as `@played(embedded, keys=THREE_KEYS)`; the other parameters are fixtures.
    """

    def decorate(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
        _, *others = signature(test).parameters.values()
        own = [it for name, it in signature(run).parameters.items() if name in _FIXTURES]
        names = {parameter.name for parameter in others}

        @wraps(test)
        def play(**fixtures: Any) -> None:
            rest = {name: fixtures[name] for name in names}
            given = {parameter.name: fixtures[parameter.name] for parameter in own}
            run(play=lambda opened: test(opened, **rest), **given, **options)

        wanted = {parameter.name: parameter for parameter in (*others, *own)}
        parameters = [it.replace(kind=Parameter.KEYWORD_ONLY) for it in wanted.values()]
        play.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        return play

    return decorate
