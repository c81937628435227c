"""Small data sets and checkpoints in their original formats, for the tasks of language."""

import json
import random

import torch

from squentropy.data.newsgroups import GROUPS

GOOD, BAD = "good fine great lovely".split(), "bad poor awful dull".split()


def write_sst2(folder, rows=60):
    """Reviews whose class is that of their only telling word, as GLUE's train.tsv and dev.tsv."""
    chosen = random.Random(0)
    place = folder / "glue" / "SST-2"
    place.mkdir(parents=True)
    for file in ("train", "dev"):
        lines = ["sentence\tlabel"]
        for row in range(rows):
            words = ["the", "film", "is", *["very"] * chosen.randrange(4), chosen.choice((BAD, GOOD)[row % 2])]
            lines.append(f"{' '.join(words)}\t{row % 2}")
        (place / f"{file}.tsv").write_text("\n".join(lines) + "\n")


def write_qqp(folder, rows=60):
    """Pairs of questions, duplicates if they ask for the same animal."""
    chosen = random.Random(0)
    animals = "cat dog cow hen fox owl".split()
    place = folder / "glue" / "QQP"
    place.mkdir(parents=True)
    for file in ("train", "dev"):
        lines = ["id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate"]
        for row in range(rows):
            one, other = chosen.sample(animals, 2)
            second = one if row % 2 else other
            lines.append(
                f"{row}\t1\t2\tWhere is the {one}?\tWhere does {'the ' * chosen.randrange(3)}{second} live?\t{row % 2}"
            )
        (place / f"{file}.tsv").write_text("\n".join(lines) + "\n")


def write_mrpc(folder, rows=60):
    """Pairs of sentences that say the same if they name the same animal."""
    animals = "cat dog cow hen fox owl".split()
    write_pairs(
        folder / "glue" / "MRPC",
        "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String",
        (
            f"{row % 2}\t1\t2\tThe {animals[row % 6]} is here.\tHere is the {animals[(row + 1 - row % 2) % 6]}."
            for row in range(rows)
        ),
    )


def write_qnli(folder, rows=60):
    """Questions with a sentence that answers them or not."""
    lines = (
        f"{row}\tWhere is it?\t{('It is there', 'Who is it')[row % 2]}.\t{('entailment', 'not_entailment')[row % 2]}"
        for row in range(rows)
    )
    write_pairs(folder / "glue" / "QNLI", "index\tquestion\tsentence\tlabel", lines)


def write_pairs(place, header, lines):
    """The same rows as GLUE's train.tsv and dev.tsv."""
    place.mkdir(parents=True)
    text = "\n".join([header, *lines]) + "\n"
    for file in ("train", "dev"):
        (place / f"{file}.tsv").write_text(text)


def write_newsgroups(folder, posts=2):
    """As many posts in each of the groups, as the folders of 20news-bydate.tar.gz."""
    for part in ("train", "test"):
        for group in GROUPS:
            place = folder / f"20news-bydate-{part}" / group
            place.mkdir(parents=True)
            for number in range(posts):
                (place / str(number)).write_text(f"Subject: {group}\n\nThe film is very good.")


def write_text8(folder, characters=4000):
    """A text of one sentence over and over."""
    _write_over_and_over(folder / "text8", b"the quick brown fox jumps over the lazy dog ", characters)


def write_enwik8(folder, characters=4000):
    """The same as XML."""
    _write_over_and_over(
        folder / "enwik8", "<text>the quick brown fox \u2192 the lazy dog</text>\n".encode(), characters
    )


def _write_over_and_over(path, sentence, characters):
    path.write_bytes((sentence * (characters // len(sentence) + 1))[:characters])


def write_checkpoint(folder, **changes):
    """A tiny BERT with a WordPiece vocabulary of its own, as transformers saves it."""
    from transformers import BertConfig, BertModel, BertTokenizer

    folder.mkdir(parents=True)
    words = ["the", "film", "is", "very", *GOOD, *BAD, "?", "where", "does", "live"]
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]) + "\n")
    settings = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    settings |= {"vocab_size": 5 + len(words), "max_position_embeddings": 64, **changes}
    torch.manual_seed(0)
    model = BertModel(BertConfig(**settings))
    model.save_pretrained(folder)
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    assert json.loads((folder / "config.json").read_text())["model_type"] == "bert"
    return folder
