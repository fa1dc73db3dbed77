"""Send the modules that every page loads as one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

_IMPORT: Final = re.compile(r'import \{[^}]*\} from "\./([\w.]+)";\s*')


def joined(texts: Mapping[str, str], start: str) -> dict[str, str]:
    """Return modules by name, with `start` and all that it imports as one, and the imports of others from there.

    Names that modules declare outside their functions have to differ. Each module runs after those that it imports, as
    it does alone, and what it exports is exported.
    """
    parts = list(dict.fromkeys(_in_order(texts, start, set())))
    others = {name: text for name, text in texts.items() if name not in parts}
    named = re.compile(rf'"\./(?:{"|".join(map(re.escape, parts))})"')
    return {
        start: "\n".join(_IMPORT.sub("", texts[part]) for part in parts),
        **{name: named.sub(f'"./{start}"', text) for name, text in others.items()},
    }


def _in_order(texts: Mapping[str, str], name: str, seen: set[str]) -> Iterator[str]:
    seen.add(name)
    for other in _IMPORT.findall(texts[name]):
        if other not in seen:
            yield from _in_order(texts, other, seen)
    yield name
