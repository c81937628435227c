"""The eight speech results of Table 1: attention and CTC on TIMIT, WSJ and LibriSpeech."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from torch import nn

from squentropy.models.speech.architectures import projected_gru, speech_transformer, vgg_lstm, vgg_projected_lstm
from squentropy.models.speech.model import AttentionCtc
from squentropy.study import Outputs, Recipe, Task
from squentropy.tasks.speech_data import SpeechBatch, SpeechData, load
from squentropy.tasks.speech_recipes import PAPER, SMALL
from squentropy.tasks.speech_scoring import measure


def predict(model: nn.Module, batch: SpeechBatch, carried: Any, *, ctc_weight: float) -> Outputs:
    """The forward pass: logits of each symbol and the end, CTC beside them, and sums to be divided by utterances."""
    spoken = model(batch.features, batch.lengths, batch.transcripts)
    return Outputs(
        spoken.logits.flatten(0, 1),
        spoken.target.flatten(),
        extra=ctc_weight * spoken.ctc,
        count=len(batch.lengths),
    )


def build(data: SpeechData, recipe: Recipe, *, architecture: Callable[..., AttentionCtc]) -> nn.Module:
    """Builds the model with the recipe's option `model` as its settings."""
    settings: Any = recipe.to_json()["options"]
    return architecture(data.num_features, data.num_classes, **settings.get("model", {}))


def recognition(
    name: str,
    recipes: Mapping[str, Recipe],
    *,
    architecture: Callable[..., AttentionCtc],
    ctc_weight: float,
    metric: str,
    summary: str = "",
    paper_row: str | None = None,
    seconds: Mapping[str, float] | None = None,
) -> Task:
    """Makes a task of recognising speech with attention and CTC.

    Args:
        name: Name of the task.
        recipes: Recipes by scale, with the options of `squentropy.tasks.speech_data.load`, `model` and `decode`.
        architecture: One of `squentropy.models.speech.architectures`; it gets the option `model`.
        ctc_weight: Share of CTC; the rest is that of the loss.
        metric: The headline, one of what `squentropy.tasks.speech_scoring.error_rates` returns.
        summary: One line for lists.
        paper_row: The published row.
        seconds: Roughly how long one run takes at each scale.

    Examples:
        >>> options = {"corpus": "speech/an4", "units": "characters", "decode": {"beam": 4}}
        >>> recipe = Recipe(epochs=5, batch_size=16, learning_rate=1e-3, optimizer="Adam", options=options)
        >>> task = recognition("my-an4", {"small": recipe}, architecture=vgg_lstm, ctc_weight=0.3, metric="wer")
        >>> task.recipe("small").loss_weight, task.data_sets_at("small")
        (0.7, ('speech/an4',))
    """
    recipes = {scale: replace(each, loss_weight=1 - ctc_weight) for scale, each in recipes.items()}
    corpora: dict[str, Any] = {scale: (each.options["corpus"],) for scale, each in recipes.items()}
    return Task(
        name=name,
        recipes=recipes,
        load=partial(load, recipes=recipes),
        build=partial(build, architecture=architecture),
        forward=partial(predict, ctc_weight=ctc_weight),
        measure=measure,
        metric=metric,
        higher_is_better=False,
        data_sets=corpora,
        paper_row=paper_row,
        summary=summary,
        seconds=seconds or {},
    )


_PAPER_SECONDS = {"speech/timit": 1e5, "speech/wsj": 2e6, "speech/librispeech": 1e7}  # a guess, on one core


def _task(
    name: str, row: str, metric: str, summary: str, *, architecture: Callable[..., AttentionCtc], ctc_weight: float
) -> Task:
    return recognition(
        f"speech/{name}",
        {"paper": PAPER[name], "small": SMALL[name]},
        architecture=architecture,
        ctc_weight=ctc_weight,
        metric=metric,
        summary=summary,
        paper_row=f"Table 1: {row}",
        seconds={"paper": _PAPER_SECONDS[str(PAPER[name].options["corpus"])], "small": 90.0},
    )


_gru = partial(_task, architecture=projected_gru, ctc_weight=0.5)
_vgg_blstmp = partial(_task, architecture=vgg_projected_lstm, ctc_weight=0.2)
_vgg_blstm = partial(_task, architecture=vgg_lstm, ctc_weight=0.5)
_transformer = partial(_task, architecture=speech_transformer, ctc_weight=0.3)
_PROMPTS = "at scale small English prompts"

SPEECH = (
    _gru("timit-phones", "Attention+CTC, TIMIT (PER)", "per", "39 phones; at scale small a sample of TIMIT"),
    _gru("timit-characters", "Attention+CTC, TIMIT (CER)", "cer", "characters; at scale small a sample of TIMIT"),
    _vgg_blstmp("vgg-blstmp-wsj", "VGG+BLSTMP, WSJ (WER)", "wer", "words; at scale small AN4"),
    _vgg_blstmp(
        "vgg-blstmp-wsj-characters", "VGG+BLSTMP, WSJ (CER)", "cer", f"characters of the same model; {_PROMPTS}"
    ),
    _vgg_blstm("vgg-blstm-librispeech", "VGG+BLSTM, Librispeech (WER)", "wer", f"words; {_PROMPTS}"),
    _vgg_blstm(
        "vgg-blstm-librispeech-subwords",
        "VGG+BLSTM, Librispeech (CER)",
        "ter",
        "sub-words of the same model, the published CER; at scale small AN4",
    ),
    _transformer("transformer-wsj", "Transformer, WSJ (WER)", "wer", "words; at scale small AN4"),
    _transformer("transformer-librispeech", "Transformer, Librispeech (WER)", "wer", f"words; {_PROMPTS}"),
)
"""The eight results."""
