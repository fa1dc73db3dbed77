"""Build the documentation site, and check that every link within it leads somewhere.

`make docs-site` runs it with the packages of `requirements-docs.txt` alone: it imports nothing of the node.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

ROOT: Final = Path(__file__).resolve().parents[2]
BUILD: Final = ROOT / "build"
PAGES: Final = BUILD / "pages"
REFERENCE: Final = BUILD / "reference"
"""The long forms of generated pages, which the repository has in short."""

SITE: Final = BUILD / "site"

HOME: Final = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
"""Pages at the root of the repository, by their names on the site."""
SUFFIXES: Final = {".md", ".svg", ".webp"}

_FENCED: Final = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r"(?P<text>\[[^\]]*\])\((?P<link>[^)\s]+)\)")
_SOURCE: Final = re.compile(r"\b(?P<name>src|srcset|href)=\"(?P<link>[^\"]+)\"")


def staged_names(root: Path) -> dict[str, str]:
    """Return the files of the site: their names on it by their paths in the repository."""
    found = (path.relative_to(root) for path in sorted((root / "docs").rglob("*")))
    names = {str(path): str(path.relative_to("docs")) for path in found if path.suffix in SUFFIXES}
    index = {"docs/README.md": "pages.md", "docs/decisions/README.md": "decisions/index.md"}
    return names | {path: name for path, name in (HOME | index).items() if (root / path).exists()}


def staged_text(text: str, path: str, names: Mapping[str, str]) -> str:
    """Return a page with its links as the site needs them; a link to a source becomes its text."""

    def moved(link: str) -> str | None:
        target, _, heading = link.partition("#")
        if "://" in link or not target:
            return link
        resolved = os.path.normpath(PurePosixPath(path).parent / target)
        if resolved not in names:
            return None
        relative = os.path.relpath(names[resolved], PurePosixPath(names[path]).parent)
        return f"{relative}#{heading}" if heading else relative

    def linked(found: re.Match[str]) -> str:
        link = moved(found["link"])
        return found["text"][1:-1] if link is None else f"{found['text']}({link})"

    def sourced(found: re.Match[str]) -> str:
        return f'{found["name"]}="{moved(found["link"]) or found["link"]}"'

    def prose(part: str) -> str:
        return _SOURCE.sub(sourced, _LINK.sub(linked, part))

    # What is fenced stays as it is.
    fences = _FENCED.findall(text)
    parts = _FENCED.split(text)
    return "".join(prose(part) + fence for part, fence in zip(parts, [*fences, ""], strict=True))


def stage() -> None:
    """Write the pages of the site below `build`."""
    shutil.rmtree(PAGES, ignore_errors=True)
    names = staged_names(ROOT)
    for path, name in names.items():
        target = PAGES / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.suffix == ".md":
            long = REFERENCE / name
            text = (long if long.exists() else ROOT / path).read_text(encoding="utf-8")
            target.write_text(staged_text(text, path, names), encoding="utf-8")
        else:
            shutil.copyfile(ROOT / path, target)


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.assets: set[str] = set()
        """What the browser loads by itself."""
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what an element refers to, and its name."""
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values["id"]} if "id" in values else set()
        loaded = {source.split()[0] for source in values.get("srcset", "").split(",") if source}
        loaded |= {values["src"]} if "src" in values else set()
        linked = {values["href"]} if "href" in values else set()
        if "stylesheet" in values.get("rel", "") and tag == "link":
            loaded |= linked
        self.assets |= loaded
        self.links |= loaded | linked


def broken_links(site: Path) -> Iterator[str]:
    """Yield each link of a site that leads to no file or no anchor of it, and each asset of another site."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        for link in sorted(page.links):
            url = urlsplit(link)
            if url.scheme or url.netloc:
                if link in page.assets and url.scheme != "data":
                    yield f"{path.relative_to(site)}: {link}"
                continue
            place = site if url.path.startswith("/") else path.parent
            target = (place / unquote(url.path).lstrip("/")).resolve() if url.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(url.fragment)
            anchors = pages[target].anchors if target in pages else set()
            if not target.is_file() or (anchor and anchor not in anchors and target in pages):
                yield f"{path.relative_to(site)}: {link}"


def main() -> None:
    """Build the site strictly, and fail if a link is broken."""
    stage()
    shutil.rmtree(SITE, ignore_errors=True)
    zensical = Path(sys.executable).parent / "zensical"
    command = [str(zensical), "build", "--clean", "--strict"]
    if subprocess.run(command, cwd=ROOT, check=False).returncode:  # noqa: S603
        raise SystemExit("the site was not built")
    broken = list(broken_links(SITE))
    if broken:
        raise SystemExit("broken links:\n" + "\n".join(broken))


if __name__ == "__main__":
    main()
