"""Characters, phones and sub-words as numbers and back."""

import pytest

from squentropy.data.speech.units import UNKNOWN, Subwords, Symbols, without_noises

SENTENCES = ["press one", "press two", "to hear it again press three", "one two three", "press again"]


def test_characters():
    units = Symbols.of(["dad", "a b"], separator="")
    assert units.names == (" ", "a", "b", "d")
    assert units.encode("bad d") == [4, 3, 5, 2, 5]
    assert units.decode([4, 3, 5, 2, 2, 5]) == "bad d"
    assert units.count == 7


def test_a_noise_is_one_character():
    units = Symbols.of(["A <NOISE> B"], separator="")
    assert units.names == (" ", "<NOISE>", "A", "B")
    assert units.decode(units.encode("B <NOISE>")) == "B <NOISE>"
    assert without_noises(" <NOISE> A <NOISE>B") == "A B"


def test_phones():
    units = Symbols.of(["sil ae sil", "b"], separator=" ")
    assert units.names == ("ae", "b", "sil")
    assert units.decode(units.encode("sil b ae")) == "sil b ae"


@pytest.mark.parametrize("units", [Symbols.of(SENTENCES, ""), Subwords.of(SENTENCES, 24)], ids=["characters", "pieces"])
def test_numbers_without_a_symbol_are_no_part_of_any_transcript(units):
    assert units.encode("xyz!")[-1] == UNKNOWN
    for number in (0, UNKNOWN, units.count - 1):
        assert units.decode([number]) == "\N{REPLACEMENT CHARACTER}"
    assert all(0 < number < units.count - 1 for sentence in SENTENCES for number in units.encode(sentence))


def test_subwords_are_pieces_of_words_and_the_same_each_time():
    units = Subwords.of(SENTENCES, 24)
    assert units.count <= 26
    assert [units.decode(units.encode(each)) for each in SENTENCES] == SENTENCES
    assert sum(map(len, map(units.encode, SENTENCES))) < 0.7 * sum(map(len, SENTENCES))
    assert Subwords.of(SENTENCES, 24).encode("press three") == units.encode("press three")
