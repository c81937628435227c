"""The eight speech results of Table 1: attention and CTC on TIMIT, WSJ and LibriSpeech.

The paper names models and corpora; the recipes are those of ESPnet 1 that reach the published error rates of cross
entropy. What it does not say, or what is done otherwise here:

- **Loss**: unknown in detail. Here each loss is summed over the symbols of the attention decoder, end included, on its
  raw scores, and divided by the number of utterances, which is how ESPnet sums cross entropy. CTC is as it is and has
  the share of the recipe. Labels are not smoothed, for no loss.
- **Training**: Adadelta of the recurrent models has its learning rate divided by 10 after two thirds and five sixths
  of the epochs, in place of ESPnet's decay of epsilon when the validation part gets no better; the last epoch counts,
  where ESPnet averages ten checkpoints of its Transformers.
- **Decoding**: without a language model. ESPnet's for WSJ lowers the word error rate by more than a half.
- **ECE**: over the symbols of the attention decoder, end included, when it reads the true ones.
- **LibriSpeech**: train-clean-100, tested on test-clean, with 1,000 sub-words: the error rates and the square loss's t
  and M fit this best. The published "CER" is the rate of wrong sub-words.

Scale `small` trains small models on free recordings, named in each record; see docs/speech.md.
"""

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


def _adadelta(epochs: int, batch_size: int, **options: Any) -> Recipe:
    return Recipe(
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=1.0,
        optimizer="Adadelta",
        optimizer_options={"rho": 0.95, "eps": 1e-8},
        schedule="step",
        schedule_options={"milestones": [2 * epochs // 3, 5 * epochs // 6], "gamma": 0.1},
        clip_norm=5.0,
        options=options,
    )


def _noam(factor: float, accumulate: int, **options: Any) -> Recipe:
    warmup = 25_000
    return Recipe(
        epochs=100,
        batch_size=32 * accumulate,
        learning_rate=factor * 256**-0.5 * warmup**-0.5,
        optimizer="Adam",
        optimizer_options={"betas": [0.9, 0.98], "eps": 1e-9},
        schedule="inverse_sqrt",
        warmup_steps=warmup,
        accumulate=accumulate,
        clip_norm=5.0,
        evaluate_every=10,
        options=options,
    )


def _small(epochs: int, batch_size: int, **options: Any) -> Recipe:
    return Recipe(
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=2e-3,
        optimizer="Adam",
        schedule="cosine",
        warmup_steps=50,
        clip_norm=5.0,
        evaluate_every=epochs,
        options={"decode": {"beam": 4, "ctc_weight": 0.5}, **options},
    )


_FRAMES = 24_000  # of a batch at most, padding included: 30 utterances of 8 seconds
_TIMIT = partial(_adadelta, 20, 30, corpus="speech/timit", decode={"beam": 20, "ctc_weight": 0.5})
_WSJ = {"corpus": "speech/wsj", "units": "characters", "decode": {"beam": 30, "ctc_weight": 0.3}}
_LIBRISPEECH = {"corpus": "speech/librispeech", "units": 1000, "longest": 3000}
_WSJ_VGG = _adadelta(15, 30, **_WSJ, frames=_FRAMES)
_LIBRISPEECH_VGG = _adadelta(
    10, 20, **_LIBRISPEECH, frames=_FRAMES, decode={"beam": 20, "ctc_weight": 0.5}, model={"dropout": 0.2}
)

_SAMPLE = {"corpus": "speech/timit-sample", "mels": 40, "stack": 3}
_AN4 = {"corpus": "speech/an4"}
_PROMPTS = {"corpus": "speech/prompts-en", "mels": 40, "longest": 1000, "frames": 6000}
_GRU = {"hidden": 96, "subsample": [1, 1], "decoder_hidden": 96, "reach": 15}
_VGG = {"channels": [8, 16], "hidden": 96, "num_layers": 2, "reach": 15}
_TRANSFORMER = {"width": 64, "feed_forward": 256, "encoder_layers": 4, "decoder_layers": 2}


def _row(
    name: str,
    row: str,
    metric: str,
    summary: str,
    architecture: Callable[..., AttentionCtc],
    ctc_weight: float,
    square: Mapping[str, int],
    paper: Recipe,
    small: Recipe,
) -> Task:
    recipes = {
        scale: replace(each, loss_parameters={"rescaled_square": square})
        for scale, each in (("paper", paper), ("small", small))
    }
    return recognition(
        f"speech/{name}",
        recipes,
        architecture=architecture,
        ctc_weight=ctc_weight,
        metric=metric,
        summary=summary,
        paper_row=f"Table 1: {row}",
        seconds={"paper": _PAPER_SECONDS[str(paper.options["corpus"])], "small": 30.0},
    )


_PAPER_SECONDS = {"speech/timit": 1e5, "speech/wsj": 2e6, "speech/librispeech": 1e7}  # a guess, on one core

SPEECH = (
    _row(
        "timit-phones",
        "Attention+CTC, TIMIT (PER)",
        "per",
        "39 phones; at scale small a sample of TIMIT",
        projected_gru,
        0.5,
        {"t": 1, "M": 15},
        _TIMIT(units="phones"),
        _small(20, 16, **_SAMPLE, units="phones", model=_GRU),
    ),
    _row(
        "timit-characters",
        "Attention+CTC, TIMIT (CER)",
        "cer",
        "characters; at scale small a sample of TIMIT",
        projected_gru,
        0.5,
        {"t": 1, "M": 1},
        _TIMIT(units="characters"),
        _small(20, 16, **_SAMPLE, units="characters", model=_GRU),
    ),
    _row(
        "vgg-blstmp-wsj",
        "VGG+BLSTMP, WSJ (WER)",
        "wer",
        "words; at scale small AN4",
        vgg_projected_lstm,
        0.2,
        {"t": 1, "M": 15},
        _WSJ_VGG,
        _small(6, 16, **_AN4, units="characters", model={**_VGG, "decoder_hidden": 96}),
    ),
    _row(
        "vgg-blstmp-wsj-characters",
        "VGG+BLSTMP, WSJ (CER)",
        "cer",
        "characters of the same model; at scale small English prompts",
        vgg_projected_lstm,
        0.2,
        {"t": 1, "M": 15},
        _WSJ_VGG,
        _small(6, 16, **_PROMPTS, units="characters", model={**_VGG, "decoder_hidden": 96}),
    ),
    _row(
        "vgg-blstm-librispeech",
        "VGG+BLSTM, Librispeech (WER)",
        "wer",
        "words; at scale small English prompts",
        vgg_lstm,
        0.5,
        {"t": 15, "M": 30},
        _LIBRISPEECH_VGG,
        _small(6, 16, **_PROMPTS, units=100, model={**_VGG, "decoder_layers": 1}),
    ),
    _row(
        "vgg-blstm-librispeech-subwords",
        "VGG+BLSTM, Librispeech (CER)",
        "ter",
        "sub-words of the same model, the published CER; at scale small AN4",
        vgg_lstm,
        0.5,
        {"t": 15, "M": 30},
        _LIBRISPEECH_VGG,
        _small(6, 16, **_AN4, units=60, model={**_VGG, "decoder_layers": 1}),
    ),
    _row(
        "transformer-wsj",
        "Transformer, WSJ (WER)",
        "wer",
        "words; at scale small AN4",
        speech_transformer,
        0.3,
        {"t": 1, "M": 15},
        _noam(10.0, 2, **_WSJ),
        _small(7, 8, **_AN4, units="characters", model=_TRANSFORMER),
    ),
    _row(
        "transformer-librispeech",
        "Transformer, Librispeech (WER)",
        "wer",
        "words; at scale small English prompts",
        speech_transformer,
        0.3,
        {"t": 15, "M": 30},
        _noam(5.0, 8, **_LIBRISPEECH, decode={"beam": 10, "ctc_weight": 0.3}),
        _small(10, 8, **_PROMPTS, units=100, model=_TRANSFORMER),
    ),
)
"""The eight results."""
