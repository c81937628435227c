"""Tables in Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".parquet", ".pq")
_ROWS_AT_A_TIME = 50_000


class ParquetFile:
    """A table in a Parquet file, whose columns keep their types.

    Args:
        path: The file.

    Raises:
        ValueError: If it is no such file.
    """

    notices = ()

    def __init__(self, path: Path) -> None:
        import pyarrow
        import pyarrow.parquet

        try:
            self._file = pyarrow.parquet.ParquetFile(path)
        except pyarrow.ArrowInvalid as error:
            raise ValueError(f"{path} is no Parquet file ({error}): write it again") from None

    @property
    def size(self) -> float:
        """How many bytes all columns take without compression."""
        metadata = self._file.metadata
        return float(sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups)))

    def whole(self) -> pd.DataFrame:
        """Reads all rows."""
        with self._file as file:
            frame: pd.DataFrame = file.read().to_pandas()
        return frame

    def parts(self) -> Iterator[pd.DataFrame]:
        """Reads some rows at a time."""
        with self._file as file:
            for batch in file.iter_batches(_ROWS_AT_A_TIME):
                yield batch.to_pandas()
