"""Corpora in their original layouts, made in miniature; what is missing in them; where they are looked for."""

import gzip
import io
import tarfile

import numpy as np
import pytest

from squentropy.data import MANIFEST, DataError, MissingDataError, verify
from squentropy.data.speech import corpora
from squentropy.data.speech.corpora import PLACES, find_speech, load_speech
from squentropy.data.speech.timit import CORE_TEST, DEVELOPMENT, FOLD
from squentropy.data.speech.wsj import normalised
from tests.data.speech.miniature import write_librispeech, write_prompts, write_timit, write_wsj


@pytest.fixture(autouse=True)
def _nothing_installed(tmp_path, monkeypatch):
    monkeypatch.setattr(corpora, "INSTALLED", tmp_path / "usr-share")
    monkeypatch.setenv("SQUENTROPY_CACHE", str(tmp_path / "cache"))


def texts(part):
    return [each.transcript for each in part]


@pytest.mark.parametrize("case", [str.upper, str.lower], ids=["capitals", "small"])
def test_timit(tmp_path, case):
    write_timit(tmp_path / "TIMIT", case=case)
    words = load_speech("speech/timit", "words", tmp_path)
    assert [len(part) for part in (words.train, words.validation, words.test)] == [12, 2, 2]
    assert words.train[0].name == "fcjf0-sx0"
    assert texts(words.train)[0] == "ace bad"
    assert {each.name.split("-")[0] for each in words.test} == {"mtas1"}
    phones = load_speech("speech/timit", "phones", tmp_path)
    # "ace bad" is h# ae k ix pau b ae dcl d q h#, and q goes.
    assert texts(phones.train)[0] == "sil ae k ih sil b ae sil d sil"
    assert words.faults == phones.faults == ()


def test_timit_without_word_files_has_the_words_of_its_texts(tmp_path):
    root = write_timit(tmp_path / "TIMIT")
    for path in root.rglob("*.WRD"):
        path.unlink()
    assert texts(load_speech("speech/timit", "words", tmp_path).train)[0] == "ace bad"


def test_the_folding_is_that_of_lee_and_hon():
    assert len(FOLD) == 61
    assert len(set(FOLD.values()) - {None}) == 39
    pairs = {
        "ao": "aa",
        "ax-h": "ah",
        "axr": "er",
        "zh": "sh",
        "nx": "n",
        "kcl": "sil",
        "h#": "sil",
        "q": None,
        "s": "s",
    }
    assert {phone: FOLD[phone] for phone in pairs} == pairs
    assert len(CORE_TEST) == 24
    assert len(DEVELOPMENT) == 50
    assert not CORE_TEST & DEVELOPMENT


def test_librispeech(tmp_path):
    write_librispeech(tmp_path / "LibriSpeech")
    corpus = load_speech("speech/librispeech", "words", tmp_path)
    assert [len(part) for part in (corpus.train, corpus.validation, corpus.test)] == [12, 2, 2]
    assert corpus.train[1].name == "10-7-0001"
    assert texts(corpus.train)[1] == "ACE CAB"


def test_wsj(tmp_path):
    write_wsj(tmp_path / "wsj")
    corpus = load_speech("speech/wsj", "words", tmp_path)
    assert [len(part) for part in (corpus.train, corpus.validation, corpus.test)] == [12, 2, 2]
    assert {each.name for each in corpus.train} >= {"si_tr_s/01i/01ic0201", "si_tr_s/4ak/4akc0106"}
    assert texts(corpus.train)[0] == "ACE BAD"
    assert corpus.faults == ()


def test_wsj_without_detailed_transcripts_has_those_without_noises(tmp_path):
    root = write_wsj(tmp_path / "wsj")
    for path in root.rglob("*.dot"):
        path.rename(path.with_suffix(".lsn"))
    assert texts(load_speech("speech/wsj", "words", tmp_path).train)[0] == "ACE BAD"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (r"Mr\. Smith [misc_noise] said", "MR. SMITH <NOISE> SAID"),
        ("~ the [<door_slam] firm [cough/] did [/cough] it ~", "THE FIRM DID IT"),
        ("<and> a --dash %percent .point .", "AND A -DASH PERCENT POINT"),
        ("it is *co*operative", "IT IS *CO*OPERATIVE"),
    ],
)
def test_transcripts_of_wsj_are_those_of_kaldi(written, expected):
    assert normalised(written) == expected


def test_the_index_that_is_missing_is_named(tmp_path):
    write_wsj(tmp_path / "wsj")
    next((tmp_path / "wsj").rglob("h1_p0.ndx")).unlink()
    with pytest.raises(DataError, match=r"has no index wsj1/doc/indices/h1_p0\.ndx"):
        load_speech("speech/wsj", "words", tmp_path)


def test_what_has_no_pair_is_left_out_and_counted(tmp_path):
    chapter = write_librispeech(tmp_path / "LibriSpeech") / "train-clean-100" / "10" / "7"
    (chapter / "10-7-0003.flac").unlink()
    lines = (chapter / "10-7.trans.txt").read_text().splitlines()
    lines[4], lines[5] = "10-7-0099 ACE", "10-7-0005 "
    (chapter / "10-7.trans.txt").write_text("\n".join(lines))
    corpus = load_speech("speech/librispeech", "words", tmp_path)
    assert len(corpus.train) == 9
    assert dict(corpus.faults) == {
        "10-7-0003": "there is no recording",
        "10-7-0004": "there is no transcript",
        "10-7-0005": "the transcript is empty",
        "10-7-0099": "there is no recording",
    }
    verdict = verify(MANIFEST["speech/librispeech"], tmp_path)
    assert verdict.status == "unknown"
    assert verdict.detail.startswith("4 utterances are left out: 10-7-0003 (there is no recording)")


def test_a_phone_that_is_none_of_the_61_is_named(tmp_path):
    root = write_timit(tmp_path / "TIMIT")
    path = root / "TRAIN" / "DR1" / "FCJF0" / "SX3.PHN"
    path.write_text(path.read_text().replace(" b\n", " bb\n"))
    corpus = load_speech("speech/timit", "phones", tmp_path)
    assert len(corpus.train) == 11
    (fault,) = corpus.faults
    assert fault.utterance == "fcjf0-sx3"
    assert "has 'bb', which is none of the 61" in fault.reason


def test_a_part_without_utterances_is_an_error(tmp_path):
    root = write_librispeech(tmp_path / "LibriSpeech")
    for path in (root / "dev-clean").rglob("*.flac"):
        path.unlink()
    with pytest.raises(DataError, match=r"the validation part has no utterances; .* 2 utterances are left out"):
        load_speech("speech/librispeech", "words", tmp_path)


def test_prompts_are_found_where_debian_puts_them(tmp_path):
    write_prompts(tmp_path / "usr-share")
    corpus = load_speech("speech/prompts-en", "words")
    assert (len(corpus.train), len(corpus.validation), len(corpus.test)) == (34, 2, 4)
    assert texts(corpus.test)[0] == "ace bad"
    assert corpus.rate == 8000


def test_festvox(tmp_path):
    root = tmp_path / "festvox-ru"
    for folder in ("wav", "lab", "etc"):
        (root / folder).mkdir(parents=True)
    said = []
    for number in range(20):
        (root / "wav" / f"ru_{number:04}.wav").write_bytes(b"sound")
        (root / "lab" / f"ru_{number:04}.lab").write_text("separator ;\n#\n0.3 125 pau\n0.4 125 zz\n")
        said.append(f'( ru_{number:04} "В+от, он {"а" * (number + 1)}!" )\n')
    (root / "etc" / "txt.done.data").write_text("".join(said))
    assert texts(load_speech("speech/festvox-ru", "phones", tmp_path).train)[0] == "pau zz"
    words = load_speech("speech/festvox-ru", "words", tmp_path)
    assert texts(words.test) == ["вот он а", f"вот он {'а' * 11}"]
    assert (len(words.train), len(words.validation)) == (17, 1)


def test_an4_of_the_compact_form_has_features_for_sound(tmp_path, monkeypatch):
    part = {"feat": np.ones((6, 13), np.float16), "len": np.array([2, 4])}
    names = {"train": ["an4_clstk/fash/an251", "an4_clstk/fbbh/an86"], "test": ["an4test_clstk/fcaw/an4", "x/y/z"]}
    arrays = {f"{name}_{key}": value for name in names for key, value in part.items()}
    arrays |= {f"{name}_text": np.array(["GO", "U  SIX"]) for name in names}
    arrays |= {f"{name}_id": np.array(ids) for name, ids in names.items()}
    np.savez(tmp_path / "an4_mfcc.npz", **arrays)
    with pytest.raises(DataError, match="the manifest says"):
        load_speech("speech/an4", "words", tmp_path)
    monkeypatch.setattr(corpora, "check_sha256", lambda path, expected: None)
    corpus = load_speech("speech/an4", "words", tmp_path)
    assert [each.recording.shape for each in corpus.test] == [(2, 13), (4, 13)]
    assert texts(corpus.train) == ["u six"]
    assert texts(corpus.validation) == ["go"]


def test_nltks_archive_of_the_sample_is_read(tmp_path):
    root = write_timit(tmp_path / "made")
    with tarfile.open(tmp_path / "sample.tar", "w") as archive:
        for speaker in ("dr1-fvmh0", "dr1-mcpm0", "dr3-madc0"):
            for path in (root / "TRAIN" / "DR1" / "FCJF0").iterdir():
                content = path.read_bytes()
                info = tarfile.TarInfo(f"timit/{speaker}/{path.name.lower()}")
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    (tmp_path / "timit.zip").write_bytes((tmp_path / "sample.tar").read_bytes())
    corpus = load_speech("speech/timit-sample", "phones", tmp_path)
    # The sentence that all speakers read is trained on, but not tested on.
    assert [len(part) for part in (corpus.train, corpus.validation, corpus.test)] == [13, 12, 12]
    assert isinstance(corpus.train[0].recording, bytes)


@pytest.mark.parametrize("name", PLACES)
def test_what_is_not_at_hand_is_asked_for_in_one_sentence(name, tmp_path):
    assert find_speech(name, tmp_path) is None
    with pytest.raises(MissingDataError, match=f"{name} is not at hand: .*--data or SQUENTROPY_DATA") as caught:
        load_speech(name, "words", tmp_path)
    assert "\n" not in str(caught.value)
    assert verify(MANIFEST[name], tmp_path).status == "missing"


def test_a_corrupt_list_of_prompts_is_an_error(tmp_path):
    write_prompts(tmp_path / "usr-share")
    path = tmp_path / "usr-share" / "doc" / "asterisk-core-sounds-en" / "core-sounds-en.txt.gz"
    path.write_bytes(gzip.compress(b"nothing"))
    with pytest.raises(DataError, match="the train part has no utterances"):
        load_speech("speech/prompts-en", "words", tmp_path)
