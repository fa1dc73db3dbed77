"""What was probably meant by a word that is none of those that are expected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from entresol.fork.settings import CACHE_VARIABLE
from entresol.node.config.forking.endpoints import names_url
from entresol.node.config.setting import PREFIX, Setting, redact


def none_of(word: str, choices: Iterable[str]) -> str:
    """Return the problem of a word that is not among the choices: the nearest, and all of them."""
    expected = tuple(choices)
    nearest = similar(word, expected)
    hint = f"did you mean {nearest}? " if nearest else ""
    return f"{redact(repr(word))} is not known; {hint}choose one of {', '.join(expected)}"


def similar(word: str, choices: Iterable[str]) -> str | None:
    """Return the choice that is nearest to a word; None if none is near."""
    import difflib  # noqa: PLC0415  # only errors need it

    return next(iter(difflib.get_close_matches(word, tuple(choices), 1)), None)


def unknown_variables(
    settings: Iterable[Setting], environment: Mapping[str, str]
) -> Iterable[tuple[str, str]]:
    """Yield the variables that look like settings and are none, each with what was probably meant."""
    known = {setting.variable for setting in settings} | {CACHE_VARIABLE}
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known and not names_url(name, environment[name]):
            nearest = similar(name.removeprefix(PREFIX), [it.removeprefix(PREFIX) for it in known])
            hint = f"did you mean {PREFIX}{nearest}?" if nearest else "it is ignored"
            yield name, f"there is no such setting; {hint}"
