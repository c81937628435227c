"""Miniature corpora in the original layouts of TIMIT, WSJ and LibriSpeech: each letter or phone is a tone."""

import gzip
import itertools

import numpy as np
import soundfile

RATE = 16_000
WORDS = ["ace", "bad", "cab", "dab", "bed", "fad", "cede", "beef"]


def tones(symbols, rate=RATE, seconds=0.1):
    """A tone for each symbol, told apart by its pitch, and a little noise."""
    time = np.arange(int(seconds * rate)) / rate
    waves = [0.3 * np.sin(2 * np.pi * (300 + 40 * (sum(map(ord, each)) % 60)) * time) for each in symbols]
    return np.concatenate(waves) + 0.001 * np.random.default_rng(0).standard_normal(len(time) * len(waves))


def write(path, wave, form, rate=RATE):
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, wave, rate, format=form, subtype="PCM_16")


def sentences(count, words=2):
    return [" ".join(each) for each in itertools.islice(itertools.permutations(WORDS, words), count)]


PHONES = {"a": "ae", "b": "b", "c": "k", "d": "dcl d", "e": "ix", "f": "f", " ": "pau"}


def write_timit(root, train=12, case=str.upper):
    """Speakers of the training part, of the development set and of the core test; SA sentences, which nobody uses."""
    texts = sentences(train + 4)
    speakers = [("train", "dr1", "fcjf0", texts[:train]), ("test", "dr1", "faks0", texts[train : train + 2])]
    speakers += [("test", "dr2", "mtas1", texts[train + 2 :]), ("test", "dr2", "mabc0", ["bad"])]
    for part, dialect, speaker, said in speakers:
        for number, text in [*enumerate(said), ("a", "ace")]:
            name = f"sa{1}" if number == "a" else f"sx{number}"
            place = root / case(part) / case(dialect) / case(speaker)
            phones = " ".join(["h#", *(PHONES[letter] for letter in text), "q", "h#"]).split()
            write(place / case(f"{name}.wav"), tones(phones), "NIST")
            labels = "".join(f"{1600 * i} {1600 * (i + 1)} {phone}\n" for i, phone in enumerate(phones))
            (place / case(f"{name}.phn")).write_text(labels)
            (place / case(f"{name}.txt")).write_text(f"0 9999 {text.capitalize()}.\n")
            words = "".join(f"{i} {i + 1} {word}\n" for i, word in enumerate(text.split()))
            (place / case(f"{name}.wrd")).write_text(words)
    return root


def write_librispeech(root, train=12):
    texts = sentences(train + 4)
    cut = {"train-clean-100": texts[:train], "dev-clean": texts[train : train + 2], "test-clean": texts[train + 2 :]}
    for speaker, (subset, said) in enumerate(cut.items(), start=10):
        chapter = root / subset / str(speaker) / "7"
        for number, text in enumerate(said):
            write(chapter / f"{speaker}-7-{number:04}.flac", tones(text), "FLAC")
        lines = [f"{speaker}-7-{number:04} {text.upper()}\n" for number, text in enumerate(said)]
        (chapter / f"{speaker}-7.trans.txt").write_text("".join(lines))
    return root


def write_wsj(root, train=12):
    """Discs with SPHERE files named .wv1, lists of them, and detailed transcripts of each session."""
    texts = sentences(train + 4)
    half = train // 2
    parts = [
        ("11-1.1/wsj0/si_tr_s", "01i", "01ic02", texts[:half]),
        ("13-2.1/wsj1/si_tr_s", "4ak", "4akc01", texts[half:train]),
        ("13-16.1/wsj1/si_dt_20", "4k0", "4k0c03", texts[train : train + 2]),
        ("11-14.1/wsj0/si_et_20", "440", "440c04", texts[train + 2 :]),
    ]
    listed = []
    for folder, speaker, session, said in parts:
        place = root / folder / speaker
        names = [f"{session}{number:02}" for number in range(1, len(said) + 1)]
        for name, text in zip(names, said, strict=True):
            write(place / f"{name}.wv1", tones(text.upper()), "NIST")
        lines = [f"[door_slam>] {text} . ({name})\n" for name, text in zip(names, said, strict=True)]
        (place / f"{session}00.dot").write_text("".join(lines))
        disc, _, inside = folder.partition("/")
        listed.append([f"{disc.replace('-', '_').replace('.', '_')}:{inside}/{speaker}/{name}" for name in names])
    indices = {
        "11-13.1/wsj0/doc/indices/train/tr_s_wv1.ndx": [f"{each}.wv1" for each in listed[0]]
        + ["11_2_1:wsj0/si_tr_s/401/401c0201.wv1"],
        "13-34.1/wsj1/doc/indices/si_tr_s.ndx": [f"{each}.wv1" for each in listed[1]],
        "13-34.1/wsj1/doc/indices/h1_p0.ndx": [each.replace(":", ": ") + ".wv1" for each in listed[2]],
        "11-13.1/wsj0/doc/indices/test/nvp/si_et_20.ndx": listed[3],
    }
    for path, lines in indices.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("; a list of files\n" + "".join(f"{line}\n" for line in lines))
    return root


def write_prompts(root, rate=8000):
    """Telephone prompts as Debian installs them: sounds, and a compressed list of what they say."""
    lines = ["; prompts", "beep: [a simple beep]"]
    for number, text in enumerate(sentences(40)):
        write(root / "asterisk/sounds/en_US_f_Allison/digits" / f"{number}.wav", tones(text, rate), "WAV", rate)
        lines.append(f"digits/{number}: {text.capitalize()}!")
    (root / "asterisk/sounds/en_US_f_Allison/letters").mkdir()
    said = root / "doc/asterisk-core-sounds-en/core-sounds-en.txt.gz"
    said.parent.mkdir(parents=True)
    said.write_bytes(gzip.compress("\n".join(lines).encode()))
