"""20 Newsgroups as published: a folder for each group, a file for each post."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from squentropy.data.archive import Archive
from squentropy.data.errors import DataError

GROUPS = (
    "alt.atheism",
    "comp.graphics",
    "comp.os.ms-windows.misc",
    "comp.sys.ibm.pc.hardware",
    "comp.sys.mac.hardware",
    "comp.windows.x",
    "misc.forsale",
    "rec.autos",
    "rec.motorcycles",
    "rec.sport.baseball",
    "rec.sport.hockey",
    "sci.crypt",
    "sci.electronics",
    "sci.med",
    "sci.space",
    "soc.religion.christian",
    "talk.politics.guns",
    "talk.politics.mideast",
    "talk.politics.misc",
    "talk.religion.misc",
)
"""The groups in the order of their numbers in scikit-learn and on the Hugging Face hub."""


def rows_of_folder(folder: Path) -> Iterator[dict[str, str]]:
    """Yields group and text of the posts in `<folder>/<group>/<number>`."""
    for path in sorted(folder.glob("*/*"), key=lambda path: path.parts[-2:]):
        yield _row(path.parent.name, path.read_bytes())


def rows_of_archive(path: Path, folder: str) -> Iterator[dict[str, str]]:
    """Yields group and text of the posts in `<folder>/<group>/<number>` of the published archive."""
    posts: dict[tuple[str, str], bytes] = {}
    with Archive(path) as archive:
        for name in archive.names:  # in the order of the archive: in another one, each would be unpacked anew
            parts = name.removeprefix("./").split("/")
            if len(parts) == 3 and parts[0] == folder and parts[2]:
                posts[parts[1], parts[2]] = archive.read(name)
    if not posts:
        raise DataError(f"{path} has no post in {folder}/<group>/<number>; fetch the archive again")
    for (group, _), content in sorted(posts.items()):
        yield _row(group, content)


def _row(group: str, content: bytes) -> dict[str, str]:
    # The posts say nothing of their encoding; latin-1, as scikit-learn reads them, has a letter for every byte.
    return {"group": group, "text": content.decode("latin-1")}
