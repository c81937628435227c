"""A fitted model as one safetensors file: tensors, and all else as JSON in its header. Nothing in it is executed."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from torch import Tensor

_KEY = "squentropy"


def write(path: str | os.PathLike[str], tensors: Mapping[str, Tensor], description: Mapping[str, Any]) -> None:
    """Write a file whole or not at all.

    Args:
        path: Where to; what is there is replaced.
        tensors: By name.
        description: What JSON can hold.
    """
    from safetensors.torch import save

    data = save({name: tensor.contiguous() for name, tensor in tensors.items()}, {_KEY: json.dumps(description)})
    path = Path(path)
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def read(path: str | os.PathLike[str], kind: str, version: int) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return tensors and description of a file.

    Args:
        path: What `write` wrote.
        kind: The description must have this under "kind".
        version: And this, or less, under "version".

    Raises:
        ValueError: If it is no such file.
        FileNotFoundError: If there is none.
    """
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise FileNotFoundError(f"no file {os.fspath(path)}: save a fitted classifier there first")
    try:
        with safe_open(path, framework="pt") as file:
            description = json.loads((file.metadata() or {})[_KEY])
            tensors = {name: file.get_tensor(name) for name in file.keys()}
    except (SafetensorError, KeyError, ValueError) as error:
        raise ValueError(
            f"{os.fspath(path)} is no {kind} file, or damaged ({error}): save the classifier again"
        ) from None
    if description.get("kind") != kind:
        raise ValueError(f"{os.fspath(path)} holds a {description.get('kind')!r}, not a {kind!r}")
    if description["version"] > version:
        raise ValueError(
            f"{os.fspath(path)} has format {description['version']}, this version of squentropy reads up to {version}: "
            "upgrade it, pip install -U squentropy"
        )
    return tensors, description
