"""What can be wrong with data: not there, not what the manifest says, or not readable."""


class DataError(ValueError):
    """A data file cannot be used; the message names the file and the cure."""


class MissingDataError(DataError, FileNotFoundError):
    """No copy of a data set is at hand; the message says where to get one."""


class WrongHashError(DataError):
    """A file or a data set is not the one that the manifest describes."""
