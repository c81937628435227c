"""TIMIT (LDC93S1): the original discs, and the sample of 160 utterances that NLTK distributes.

The parts are those of Kaldi's recipe: all speakers of the training part, 50 speakers and the 24 of the core test of the
test part, without the two sentences (SA) that all speakers read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePath
from typing import Literal, NamedTuple, TypeAlias

from squentropy.data.archive import Archive
from squentropy.data.errors import DataError
from squentropy.data.speech.corpus import Fault, Recording, SpeechCorpus, divided

Units: TypeAlias = Literal["phones", "words"]
RATE = 16_000
CORE_TEST = frozenset(
    """mdab0 mwbt0 felc0 mtas1 mwew0 fpas0 mjmp0 mlnt0 fpkt0 mlll0 mtls0 fjlm0
    mbpm0 mklt0 fnlp0 mcmj0 mjdh0 fmgd0 mgrt0 mnjm0 fdhc0 mjln0 mpam0 fmld0""".split()
)
DEVELOPMENT = frozenset(
    """faks0 fdac1 fjem0 mgwt0 mjar0 mmdb1 mmdm2 mpdf0 fcmh0 fkms0 mbdg0 mbwm0 mcsh0 fadg0 fdms0 fedw0 mgjf0
    mglb0 mrtk0 mtaa0 mtdt0 mthc0 mwjg0 fnmr0 frew0 fsem0 mbns0 mmjr0 mdls0 mdlf0 mdvc0 mers0 fmah0 fdrw0
    mrcs0 mrjm4 fcal1 mmwh0 fjsj0 majc0 mjsw0 mreb0 fgjd0 fjmg0 mroa0 mteb0 mjfc0 mrjr0 fmml0 mrws1""".split()
)
# Of the sample's 16 speakers; the sentences of those tested are not among those trained on.
SAMPLE_TEST = frozenset({"mcpm0", "faem0", "mbma1", "fbcg1"})
SAMPLE_DEVELOPMENT = frozenset({"madc0"})

# The 61 phones to 39 (Lee & Hon 1989): these, and otherwise the phone itself. The glottal stop is left out.
_FOLDED = {
    "aa": "ao",
    "ah": "ax ax-h",
    "er": "axr",
    "hh": "hv",
    "ih": "ix",
    "l": "el",
    "m": "em",
    "n": "en nx",
    "ng": "eng",
    "sh": "zh",
    "sil": "pcl tcl kcl bcl dcl gcl h# pau epi",
    "uw": "ux",
}
_UNCHANGED = "ae aw ay b ch d dh dx eh ey f g iy jh k ow oy p r s t th uh v w y z"
FOLD: dict[str, str | None] = {
    "q": None,
    **{each: each for each in _UNCHANGED.split()},
    **{each: each for each in _FOLDED if each != "sil"},
    **{each: folded for folded, group in _FOLDED.items() for each in group.split()},
}
"""Each of the 61 phones with that of the 39 that it counts as, or None."""


class File(NamedTuple):
    """A file of a corpus: where it stands, and how it is read."""

    path: PurePath
    read: Callable[[], bytes]


def read_timit(root: Path, units: Units) -> SpeechCorpus:
    """Reads the folder that holds TRAIN and TEST, in capitals or not; its sounds are SPHERE or wav files."""
    files = (File(path.relative_to(root), path.read_bytes) for path in sorted(root.rglob("*")) if path.is_file())
    return _corpus("TIMIT", files, units, _part, root)


def read_sample(archive: Archive, units: Units) -> SpeechCorpus:
    """Reads the archive of NLTK's sample: ten utterances of each of 16 speakers."""
    files = (File(PurePath(name), lambda name=name: archive.read(name)) for name in archive.names)  # type: ignore[misc]
    return _corpus("TIMIT sample", files, units, _sample_part, None)


def _part(folder: str, speaker: str, sentence: str) -> str | None:
    if sentence.startswith("sa"):
        return None
    if folder == "train":
        return "train"
    return "test" if speaker in CORE_TEST else "validation" if speaker in DEVELOPMENT else None


def _sample_part(folder: str, speaker: str, sentence: str) -> str | None:
    if speaker in SAMPLE_TEST | SAMPLE_DEVELOPMENT:
        part = "test" if speaker in SAMPLE_TEST else "validation"
        return None if sentence.startswith("sa") else part
    return "train"


def _corpus(
    name: str,
    files: Iterable[File],
    units: Units,
    part_of: Callable[[str, str, str], str | None],
    root: Path | None,
) -> SpeechCorpus:
    """Gathers what belongs to each utterance, `<part>/<dialect>/<speaker>/<sentence>.<kind>`."""
    recordings: dict[str, Recording] = {}
    texts: dict[str, dict[str, Callable[[], bytes]]] = {"phn": {}, "wrd": {}, "txt": {}}
    parts: dict[str, str | None] = {}
    for path, read in files:
        kind, places = path.suffix[1:].lower(), [each.lower() for each in path.parts]
        if kind not in ("wav", *texts) or len(places) < 3:
            continue
        speaker, sentence = places[-2].rpartition("-")[2], places[-1].partition(".")[0]
        utterance = f"{speaker}-{sentence}"
        parts[utterance] = part_of(places[0], speaker, sentence)
        if kind == "wav":
            recordings[utterance] = read() if root is None else root / path
        else:
            texts[kind][utterance] = read
    wanted = texts["phn"] if units == "phones" else {**texts["txt"], **texts["wrd"]}
    reading = _read_phones if units == "phones" else _read_words
    transcripts, faults = {}, []
    for utterance, read in wanted.items():
        try:
            if parts[utterance] is not None:
                transcripts[utterance] = reading(read().decode("ascii", errors="replace"))
        except DataError as error:
            faults.append(Fault(utterance, str(error)))
    return divided(name, RATE, recordings, transcripts, parts.get, faults)


def _read_phones(text: str) -> str:
    return " ".join(_folded(text))


def _folded(text: str) -> Iterator[str]:
    """The 39 phones of a file with lines `begin end phone`."""
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        phone = line.split()[-1]
        if phone not in FOLD:
            raise DataError(f"line {number} of its phones has {phone!r}, which is none of the 61")
        if (folded := FOLD[phone]) is not None:
            yield folded


def _read_words(text: str) -> str:
    """The words of a file with lines `begin end words`: letters only, as in ESPnet's recipe."""
    words = " ".join(" ".join(line.split()[2:]) for line in text.splitlines()).lower()
    letters = "".join(character for character in words if character == " " or "a" <= character <= "z")
    return " ".join(letters.split())
