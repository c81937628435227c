"""Makes the files of one data set as the archive of Fernández-Delgado et al. has them."""

from pathlib import Path

import numpy as np

X = np.array([[0.5, -1.25], [1.5, 0.0], [-2.0, 3.0], [0.25, 1.0], [0.0, -1.0]], dtype=np.float32)
y = np.array([0, 1, 2, 1, 0])
HALVES = ([0, 2], [1, 3, 4])
FOLDS = [([0, 1, 2], [3, 4]), ([2, 3, 4], [0, 1]), ([0, 1, 4], [2, 3]), ([1, 2, 3], [0, 4])]


def patterns(features=X, classes=y):
    lines = ["\tf1\tf2\tclase"]
    lines += [
        f"{i}\t" + "\t".join(f"{value:g}" for value in row) + f"\t{label}"
        for i, (row, label) in enumerate(zip(features, classes, strict=True), start=1)
    ]
    return "\n".join(lines) + "\n"


def write(folder: Path, *, with_test: bool = False, **changed: str) -> Path:
    """Writes the folder; `changed` replaces the text of a file, its dots and dashes written as underscores."""
    name = folder.name
    header = ["n_entradas= 2", "n_clases= 3", "n_arquivos= 1", f"fich1= {name}_R.dat", "n_patrons1= 5"]
    if with_test:
        header += [f"fich2= {name}_test_R.dat", "n_patrons2= 2"]
    rows = [*HALVES, *(part for fold in FOLDS for part in fold)]
    lines = [" ".join(map(str, row)) for row in rows]
    files = {
        f"{name}.txt": "\n".join(header) + "\n",
        f"{name}_R.dat": patterns(),
        "conxuntos.dat": "\n".join(lines[:2]) + "\n",
        "conxuntos_kfold.dat": "\n".join(lines[2:]) + "\n",
    }
    if with_test:
        files[f"{name}_test_R.dat"] = patterns(X[:2] + 1, y[:2])
    folder.mkdir(parents=True)
    for file, text in files.items():
        key = file.removeprefix(name).strip("._").replace(".", "_").replace("-", "_")
        (folder / file).write_text(changed.get(key, text))
    return folder
