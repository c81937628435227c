"""Data: the manifest of all data sets, one way in to them, and readers that check what they read."""

from squentropy.data.errors import DataError, MissingDataError, WrongHashError
from squentropy.data.fetch import fetch
from squentropy.data.load import load_tabular
from squentropy.data.manifest import MANIFEST, DataFile, DataSet, select
from squentropy.data.tabular import Split, TabularSet
from squentropy.data.verify import Verdict, is_at_hand, verify

__all__ = [
    "MANIFEST",
    "DataError",
    "DataFile",
    "DataSet",
    "MissingDataError",
    "Split",
    "TabularSet",
    "Verdict",
    "WrongHashError",
    "fetch",
    "is_at_hand",
    "load_tabular",
    "select",
    "verify",
]
