"""The fifteen language results of Table 1, in three families."""

from squentropy.tasks.language_characters import CHARACTERS
from squentropy.tasks.language_finetuning import FINETUNING
from squentropy.tasks.language_pairs import PAIRS

LANGUAGE = (*FINETUNING, *CHARACTERS, *PAIRS)
