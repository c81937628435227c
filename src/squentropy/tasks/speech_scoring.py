"""Error rates: the transcripts that a model finds beside what was said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from torch import nn

from squentropy.data.speech.units import Subwords, Symbols, Units, without_noises
from squentropy.models.speech.beam_search import Search
from squentropy.models.speech.model import AttentionCtc
from squentropy.study import Recipe
from squentropy.study.evaluation import as_weights
from squentropy.tasks.speech_data import SpeechBatch, SpeechData
from squentropy.tasks.speech_language_model import language_model


def measure(model: nn.Module, data: SpeechData, recipe: Recipe) -> dict[str, float]:
    """Transcribes the test part and counts errors.

    The recipe's option `decode` says how it is searched: fields of `squentropy.models.speech.beam_search.Search`. The
    option `language_model` has the settings of a language model, for a search whose `language_model_weight` is not 0.

    Returns:
        What `error_rates` does, for the transcripts of the joint search; and, as a check, the same for CTC's best path
        alone with `_best_path` behind each name.
    """
    options: Any = recipe.options
    model = cast(AttentionCtc, model)
    search = Search(model.end, **options["decode"])
    found: dict[int, list[int]] = {}
    paths: dict[int, list[int]] = {}
    weights = next(model.parameters())
    language = None
    if search.language_model_weight > 0:
        transcripts = tuple(tuple(each.tolist()) for each in data.train.symbols)
        device = str(weights.device)
        language = language_model(transcripts, data.num_classes, **options["language_model"], device=device)
    for batch in data.test_batches(recipe):
        rows = batch.rows.tolist()
        moved: SpeechBatch = as_weights(batch, weights)
        beside = None if language is None else language.searching(len(rows))
        best = model.transcribe(moved.features, moved.lengths, search, beside)
        found |= zip(rows, (each.symbols for each in best), strict=True)
        paths |= zip(rows, model.best_path(moved.features, moved.lengths), strict=True)
    joint, alone = (
        error_rates(data.units, data.test.references, [each[row] for row in range(data.test_rows)])
        for each in (found, paths)
    )
    return {**joint, **{f"{name}_best_path": rate for name, rate in alone.items()}}


def error_rates(units: Units, references: Sequence[str], found: Sequence[Sequence[int]]) -> dict[str, float]:
    """Errors as shares of what was said: substitutions, deletions and insertions over all utterances together.

    Args:
        units: What the found transcripts are made of.
        references: What was said.
        found: Numbers of the symbols that were found.

    Returns:
        For phones `per`; for characters `cer`, in which spaces are characters, and `wer`, both without noises; for
        sub-words `ter`, the rate of wrong sub-words that ESPnet calls CER, and `wer`.

    Examples:
        >>> units = Symbols(("sil", "ay"), " ")
        >>> error_rates(units, ["sil ay sil", "sil"], [[2, 3], [2, 2]])
        {'per': 0.5}
        >>> sorted(error_rates(Symbols((" ", "a", "b"), ""), ["a b a b"], [[3, 2, 4]]).items())
        [('cer', 0.571...), ('wer', 0.5)]
    """
    import jiwer

    said = [units.decode(each) for each in found]
    if isinstance(units, Subwords):
        pieces = [" ".join(map(str, units.encode(each))) for each in references]
        guessed = [" ".join(map(str, each)) for each in found]
        return {"ter": float(jiwer.wer(pieces, guessed)), "wer": float(jiwer.wer(list(references), said))}
    if isinstance(units, Symbols) and units.separator:
        return {"per": float(jiwer.wer(list(references), said))}
    references, said = ([without_noises(each) for each in texts] for texts in (references, said))
    return {"cer": float(jiwer.cer(references, said)), "wer": float(jiwer.wer(references, said))}
