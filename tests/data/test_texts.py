"""Texts from small files in each of the formats in which they are published, and what can be wrong with them."""

import hashlib
import io
import json
import lzma
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from squentropy.data import MANIFEST, DataError, MissingDataError, WrongHashError, fetch, is_at_hand
from squentropy.data.text_sets import are_texts_at_hand, load_texts
from tests.data.test_download import server  # noqa: F401 (a fixture)

SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the real data sets are not at hand")

MRPC = (
    '\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t1\t2\tHe "said" so.\tSo he said.\n0\t3\t4\tA dog.\tA cat.\n'
)
FILES = {
    "glue/MRPC": MRPC,
    "glue/SST-2": "sentence\tlabel\nit 's fun \t1\ndull\t0\n",
    "glue/QNLI": "index\tquestion\tsentence\tlabel\n0\tWho?\tHe did.\tentailment\n1\tWhen?\tBlue.\tnot_entailment\n",
    "glue/QQP": "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n0\t1\t2\tWhy?\tHow come?\t1\n1\t3\t4\tWho?\t\t0\n"
    "2\t5\t6\tWhere?\tWhen?\t0\n",
}


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SQUENTROPY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SQUENTROPY_DATA", raising=False)


def glue(folder, name, *, train=None, test=None, suffix=""):
    """Writes a set as GLUE has it."""
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    for file, text in (("train", train), ("dev", test)):
        content = (FILES[name] if text is None else text).encode()
        (place / f"{file}.tsv{suffix}").write_bytes(lzma.compress(content) if suffix else content)
    return folder


@pytest.mark.parametrize(
    ("name", "first", "second", "target"),
    [
        ("glue/MRPC", ('He "said" so.', "A dog."), ("So he said.", "A cat."), [1, 0]),
        ("glue/SST-2", ("it 's fun ", "dull"), None, [1, 0]),
        ("glue/QNLI", ("Who?", "When?"), ("He did.", "Blue."), [0, 1]),
        ("glue/QQP", ("Why?", "Where?"), ("How come?", "When?"), [1, 0]),  # one published question is empty
    ],
)
def test_as_glue_has_them(tmp_path, name, first, second, target):
    texts = load_texts(name, glue(tmp_path, name))
    assert (texts.train.first, texts.train.second, texts.train.target.tolist()) == (first, second, target)
    assert is_at_hand(MANIFEST[name], tmp_path)
    assert not is_at_hand(MANIFEST[name])


@pytest.mark.parametrize("place", ["SST-2", "glue/sst2", "sst2"])
def test_folders_that_are_looked_into(tmp_path, place):
    original = glue(tmp_path / "elsewhere", "glue/SST-2") / "glue" / "SST-2"
    (tmp_path / place).parent.mkdir(exist_ok=True)
    original.rename(tmp_path / place)
    assert len(load_texts("glue/SST-2", tmp_path).train) == 2


def hugging_face(**columns):
    datasets = pytest.importorskip("datasets")
    part = datasets.Dataset.from_dict(columns)
    return datasets.DatasetDict({"train": part, "validation": part, "test": part})


@pytest.mark.parametrize("form", ["saved", "parquet"])
def test_as_hugging_face_has_them(tmp_path, form):
    parts = hugging_face(sentence1=['He "said" so.', "A dog."], sentence2=["So he said.", "A cat."], label=[1, 0])
    folder = tmp_path / "glue" / "mrpc"
    if form == "saved":
        parts.save_to_disk(folder)
    else:
        folder.mkdir(parents=True)
        for name, part in parts.items():
            part.to_parquet(folder / f"{name}-00000-of-00001.parquet")
    texts = load_texts("glue/MRPC", tmp_path)
    assert texts.sha256 == load_texts("glue/MRPC", glue(tmp_path / "other", "glue/MRPC")).sha256


POSTS = {
    ("train", "comp.graphics", "10"): "From: a\n\nPixels",
    ("train", "talk.religion.misc", "9"): "From: b\n\nCaf\xe9",
    ("test", "comp.graphics", "11"): "From: c\n\nLines",
}


def newsgroups(folder, form):
    """Writes 20 Newsgroups in one of its forms."""
    folder.mkdir(parents=True, exist_ok=True)
    if form == "folders":
        for (part, group, number), text in POSTS.items():
            path = folder / f"20news-bydate-{part}" / group / number
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("latin-1"))
    elif form == "archive":
        (folder / "20news-bydate.tar.gz").write_bytes(archive())
    else:
        for part in ("train", "test"):
            lines = [
                json.dumps({"text": text, "label": 1 if group == "comp.graphics" else 19, "label_text": group})
                for (own, group, _), text in POSTS.items()
                if own == part
            ]
            (folder / f"{part}.jsonl").write_text("\n".join(lines) + "\n")


def archive():
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for (part, group, number), text in POSTS.items():
            member = tarfile.TarInfo(f"20news-bydate-{part}/{group}/{number}")
            member.size = len(text.encode("latin-1"))
            tar.addfile(member, io.BytesIO(text.encode("latin-1")))
    return buffer.getvalue()


@pytest.mark.parametrize("form", ["folders", "archive", "lines"])
@pytest.mark.parametrize("place", ["", "20news"])
def test_newsgroups(tmp_path, form, place):
    if form == "lines" and not place:
        place = "20news"  # files called train.jsonl say nothing of what is in them
    newsgroups(tmp_path / place, form)
    texts = load_texts("20news", tmp_path)
    assert texts.train.first == ("From: a\n\nPixels", "From: b\n\nCaf\xe9")
    assert texts.train.target.tolist() == [1, 19]
    assert texts.test.first == ("From: c\n\nLines",)


def test_newsgroups_fetched_from_a_server(server, monkeypatch):  # noqa: F811
    known = MANIFEST["20news"]
    (original,) = (file for file in known.files if file.url)
    content = archive()
    monkeypatch.setattr("tests.data.test_download.CONTENT", content)
    changed = replace(original, url=f"{server.url}/data", sha256=hashlib.sha256(content).hexdigest())
    monkeypatch.setitem(MANIFEST, "20news", replace(known, files=(changed,)))
    assert not are_texts_at_hand("20news")
    fetch([MANIFEST["20news"]])
    assert load_texts("20news").test.first == ("From: c\n\nLines",)


HEADER = FILES["glue/QNLI"].partition("\n")[0] + "\n"


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ("question\tlabel\nWho?\tentailment\n", r"train.tsv has no column 'sentence', only 'question', 'label'$"),
        (HEADER + "0\tWho?\tentailment\n", r"train.tsv, line 2: 3 columns instead of 4; correct the line$"),
        (HEADER + "0\tWho?\t \tentailment\n", r"train.tsv, row 1: the text is empty; fill it in or remove the row$"),
        (
            HEADER + "0\tWho?\tHe.\tmaybe\n",
            r"train.tsv, row 1: the label 'maybe' is none of entailment, not_entailment$",
        ),
        (HEADER, r"^glue/QNLI: the train part has no rows; look at its files$"),
        (
            HEADER + "0\tWho?\tHe.\tentailment\n",
            "test part has the label 'not_entailment', which no row of the training",
        ),
    ],
    ids=["column missing", "columns", "empty", "label", "no rows", "new label"],
)
def test_bad_files(tmp_path, train, message):
    with pytest.raises(DataError, match=message) as caught:
        load_texts("glue/QNLI", glue(tmp_path, "glue/QNLI", train=train))
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text(tmp_path):
    glue(tmp_path, "glue/SST-2")
    (tmp_path / "glue" / "SST-2" / "dev.tsv").write_bytes(b"sentence\tlabel\nna\xefve\t1\n")
    with pytest.raises(DataError, match=r"dev.tsv, line 2: byte 0xef is not UTF-8; convert the file"):
        load_texts("glue/SST-2", tmp_path)


def test_lines_that_are_no_json(tmp_path):
    newsgroups(tmp_path / "20news", "lines")
    for line, message in (("{", "line 1 is no JSON"), ("[]", "line 1 is no JSON object")):
        (tmp_path / "20news" / "test.jsonl").write_text(line + "\n")
        with pytest.raises(DataError, match=message):
            load_texts("20news", tmp_path)


def test_damaged_files(tmp_path):
    glue(tmp_path, "glue/MRPC", suffix=".xz")
    with pytest.raises(WrongHashError, match=r"train.tsv.xz has SHA-256 .*, the manifest says"):
        load_texts("glue/MRPC", tmp_path)
    (tmp_path / "mrpc").mkdir()
    for part in ("train", "validation"):
        (tmp_path / "mrpc" / f"{part}-0.parquet").write_bytes(b"PAR1")
    (tmp_path / "glue").rename(tmp_path / "away")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        load_texts("glue/MRPC", tmp_path)


def test_what_is_missing_is_one_sentence():
    with pytest.raises(MissingDataError) as caught:
        load_texts("glue/QNLI")
    assert str(caught.value) == (
        "glue/QNLI is not at hand: put train.tsv and dev.tsv from https://gluebenchmark.com/tasks (11 MB; CC BY-SA 4.0)"
        " into the folder glue/QNLI of a directory and name that with --data or SQUENTROPY_DATA"
    )
    with pytest.raises(MissingDataError, match=r"20news-bydate.tar.gz .*, or run `squentropy data fetch 20news`$"):
        load_texts("20news")


def test_the_same_rows_are_drawn_each_time(tmp_path):
    rows = "".join(f"text {n}\t{n % 2}\n" for n in range(50))
    folder = glue(tmp_path, "glue/SST-2", train="sentence\tlabel\n" + rows)
    first, second = (load_texts("glue/SST-2", folder).limited(train=10, test=5) for _ in range(2))
    assert first.train.first == second.train.first
    assert len(set(first.train.first)) == 10
    assert len(first.test) == 2


@needs_shared
def test_a_cut_is_enough_where_the_whole_is_not_asked_for():
    assert len(load_texts("glue/QQP", SHARED, whole=False).train) == 10_000
    with pytest.raises(MissingDataError, match="holds only a part of glue/QQP, enough for scale small"):
        load_texts("glue/QQP", SHARED)


@needs_shared
@pytest.mark.parametrize(
    ("name", "train", "test"), [("glue/MRPC", 3668, 408), ("glue/SST-2", 67349, 872), ("glue/QNLI", 10475, 5463)]
)
def test_real_sets(name, train, test):
    texts = load_texts(name, SHARED, whole=False)
    assert (len(texts.train), len(texts.test)) == (train, test)
