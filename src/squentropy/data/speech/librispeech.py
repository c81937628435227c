"""LibriSpeech (OpenSLR 12): folders of flac files with a file of transcripts for each chapter."""

from __future__ import annotations

from pathlib import Path

from squentropy.data.errors import DataError
from squentropy.data.speech.corpus import Recording, SpeechCorpus, divided

RATE = 16_000
PARTS = {"train-clean-100": "train", "dev-clean": "validation", "test-clean": "test"}
"""The subsets that are used. Which one the paper trained on is unknown; the smallest fits its error rates best."""


def read_librispeech(root: Path) -> SpeechCorpus:
    """Reads the folder that holds `train-clean-100`, `dev-clean` and `test-clean`."""
    recordings: dict[str, Recording] = {}
    transcripts: dict[str, str] = {}
    parts: dict[str, str] = {}
    for subset, part in PARTS.items():
        found = {path.stem: path for path in sorted((root / subset).glob("*/*/*.flac"))}
        said: dict[str, str] = {}
        for path in sorted((root / subset).glob("*/*/*.trans.txt")):
            said |= _read_transcripts(path)
        recordings |= found
        transcripts |= said
        parts |= dict.fromkeys((*found, *said), part)
    return divided("LibriSpeech", RATE, recordings, transcripts, parts.get)


def _read_transcripts(path: Path) -> dict[str, str]:
    """Lines `<speaker>-<chapter>-<number> WORDS`."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is no text ({error}); unpack it again") from error
    return {name: " ".join(words.split()) for name, _, words in (line.partition(" ") for line in lines) if name}
