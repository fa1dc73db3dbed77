"""Write the parts of the documentation that come from the code.

`make docs` runs it; `make check` runs it with `--check`, which writes nothing and fails when a page
is stale.
"""

from __future__ import annotations

import ast
import asyncio
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from docs.tools.pages import decisions_page, errors_page, methods_page, settings_page
from docs.tools.recording import record_all
from docs.tools.two_floors import pictures

DOCS: Final = Path(__file__).resolve().parent.parent
PACKAGE: Final = DOCS.parent / "src" / "entresol"

ARCHITECTURE: Final = DOCS / "architecture.md"
DECISIONS: Final = DOCS / "decisions"
MODULES: Final = re.compile(r"(?<=<!-- modules: generated -->\n).*?(?=<!-- end -->)", re.DOTALL)


def architecture() -> str:
    """Return the architecture page with its module table regenerated."""
    page = ARCHITECTURE.read_text(encoding="utf-8")
    table = "\n".join(("| module | description |", "|---|---|", *module_rows()))
    renewed, places = MODULES.subn(lambda _: f"\n{table}\n\n", page)
    if places != 1:
        raise SystemExit(f"{ARCHITECTURE}: expected one module table, got {places}")
    return renewed


def module_rows() -> Iterator[str]:
    """Yield a table row for each module: its name and the first sentence of its docstring."""
    for path in sorted((*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pyi")), key=module_name):
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        if docstring is None:
            raise SystemExit(f"{path}: a module starts with a docstring that says what it is")
        first_paragraph = " ".join(docstring.split("\n\n")[0].split())
        sentence = re.split(r"(?<=\.)\s", first_paragraph)[0]
        yield f"| `{module_name(path)}` | {sentence} |"


def module_name(path: Path) -> str:
    """Return the dotted name under which the module in `path` is imported."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def main() -> None:
    """Regenerate every page, or with `--check` fail if one is stale."""
    pages = {
        ARCHITECTURE: architecture(),
        DOCS / "rpc.md": methods_page(*asyncio.run(record_all())),
        DOCS / "config.md": settings_page(),
        DOCS / "errors.md": errors_page(),
        DECISIONS / "README.md": decisions_page(DECISIONS),
        **{DOCS / "images" / name: picture for name, picture in pictures().items()},
    }
    renew(pages, check="--check" in sys.argv[1:])


def renew(pages: Mapping[Path, str], *, check: bool) -> None:
    """Write the pages that are stale; with `check`, fail instead."""
    stale = [path for path, text in pages.items() if _read(path) != text]
    if check and stale:
        names = ", ".join(f"{path.parent.name}/{path.name}" for path in stale)
        raise SystemExit(f"stale: {names}; run `make docs` and commit the result")
    for path in stale:
        path.write_text(pages[path], encoding="utf-8")


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


if __name__ == "__main__":
    main()
