"""Small data sets and checkpoints in their original formats, for the tasks of language."""

import json
import random

import torch

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


def write_text8(folder, characters=4000):
    """A text of one sentence over and over."""
    (folder / "text8").write_bytes((b"the quick brown fox jumps over the lazy dog " * characters)[:characters])


def write_checkpoint(folder, **changes):
    """A tiny BERT with a WordPiece vocabulary of its own, as transformers saves it."""
    from transformers import BertConfig, BertModel, BertTokenizer

    folder.mkdir(parents=True)
    words = ["the", "film", "is", "very", *GOOD, *BAD, "?", "where", "does", "live"]
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]) + "\n")
    settings = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32, **changes}
    torch.manual_seed(0)
    model = BertModel(BertConfig(vocab_size=5 + len(words), max_position_embeddings=64, **settings))
    model.save_pretrained(folder)
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    assert json.loads((folder / "config.json").read_text())["model_type"] == "bert"
    return folder
