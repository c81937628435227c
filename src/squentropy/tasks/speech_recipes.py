"""How the speech rows of Table 1 are trained: `PAPER` and `SMALL`, a recipe for each task.

The paper names models and corpora, and t and M of the rescaled square loss. The recipes of scale `paper` are those of
ESPnet 1 that reach the published error rates of cross entropy. What it does not say, or what is done otherwise here:

- **Loss**: unknown in detail. Here each loss is summed over the symbols of the attention decoder, end included, on its
  raw scores, and divided by the number of utterances, which is how ESPnet sums cross entropy. CTC is as it is and has
  the share of the recipe. Labels are not smoothed, for no loss.
- **Training**: Adadelta of the recurrent models has its learning rate divided by 10 after two thirds and five sixths
  of the epochs, in place of ESPnet's decay of epsilon when the validation part gets no better; the last epoch counts,
  where ESPnet averages ten checkpoints of its Transformers.
- **Decoding**: without a language model, which the option `language_model` would train on the transcripts. ESPnet's for
  WSJ, of the newspaper's texts, lowers the word error rate by more than a half.
- **LibriSpeech**: train-clean-100, tested on test-clean, with 1,000 sub-words: the error rates and the square loss's t
  and M fit this best. The published "CER" is the rate of wrong sub-words.

Scale `small` trains small models for some epochs on free recordings, whose names are in each record.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from squentropy.study import Recipe


def _scaled(t: int, largest: int) -> Mapping[str, object]:
    return {"rescaled_square": {"t": t, "M": largest}}


_PHONES, _PLAIN, _SUBWORDS = _scaled(1, 15), _scaled(1, 1), _scaled(15, 30)


def _adadelta(epochs: int, batch_size: int, scaling: Mapping[str, object], **options: Any) -> Recipe:
    return Recipe(
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=1.0,
        optimizer="Adadelta",
        optimizer_options={"rho": 0.95, "eps": 1e-8},
        schedule="step",
        schedule_options={"milestones": [2 * epochs // 3, 5 * epochs // 6], "gamma": 0.1},
        clip_norm=5.0,
        evaluate_every=5,
        loss_parameters=scaling,
        options=options,
    )


def _noam(factor: float, accumulate: int, scaling: Mapping[str, object], **options: Any) -> Recipe:
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
        loss_parameters=scaling,
        options=options,
    )


_FRAMES = 24_000  # of a batch at most, padding included: 30 utterances of 8 seconds
_timit = partial(_adadelta, 20, 30, corpus="speech/timit", decode={"beam": 20, "ctc_weight": 0.5})
_WSJ = {"corpus": "speech/wsj", "units": "characters", "decode": {"beam": 30, "ctc_weight": 0.3}}
_WSJ_VGG = _adadelta(15, 30, _PHONES, **_WSJ, frames=_FRAMES)
_LIBRISPEECH = {"corpus": "speech/librispeech", "units": 1000, "longest": 3000}
_LIBRISPEECH_VGG = _adadelta(
    10,
    20,
    _SUBWORDS,
    **_LIBRISPEECH,
    frames=_FRAMES,
    decode={"beam": 20, "ctc_weight": 0.5},
    model={"dropout": 0.2},
)

PAPER = {
    "timit-phones": _timit(_PHONES, units="phones"),
    "timit-characters": _timit(_PLAIN, units="characters"),
    "vgg-blstmp-wsj": _WSJ_VGG,
    "vgg-blstmp-wsj-characters": _WSJ_VGG,
    "vgg-blstm-librispeech": _LIBRISPEECH_VGG,
    "vgg-blstm-librispeech-subwords": _LIBRISPEECH_VGG,
    "transformer-wsj": _noam(10.0, 2, _PHONES, **_WSJ),
    "transformer-librispeech": _noam(5.0, 8, _SUBWORDS, **_LIBRISPEECH, decode={"beam": 10, "ctc_weight": 0.3}),
}


def _small(
    epochs: int, batch_size: int, scaling: Mapping[str, object], learning_rate: float = 2e-3, **options: Any
) -> Recipe:
    return Recipe(
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        optimizer="Adam",
        schedule="cosine",
        warmup_steps=50,
        clip_norm=5.0,
        evaluate_every=epochs,
        loss_parameters=scaling,
        options={"decode": {"beam": 4, "ctc_weight": 0.5}, **options},
    )


_GRU = {"hidden": 96, "subsample": [1, 1], "decoder_hidden": 96, "reach": 15}
_VGG = {"channels": [8, 16], "hidden": 96, "num_layers": 2, "reach": 15}
_LSTMP, _LSTM = {**_VGG, "decoder_hidden": 96}, {**_VGG, "decoder_layers": 1}
_TRANSFORMER = {"width": 64, "feed_forward": 256, "encoder_layers": 4, "decoder_layers": 2}
_sample = partial(_small, 60, 16, learning_rate=3e-3, corpus="speech/timit-sample", mels=40, stack=3, model=_GRU)
_an4 = partial(_small, corpus="speech/an4")
_prompts = partial(_small, corpus="speech/prompts-en", mels=40, longest=1000, frames=6000)

SMALL = {
    "timit-phones": _sample(_PHONES, units="phones"),
    "timit-characters": _sample(_PLAIN, units="characters"),
    "vgg-blstmp-wsj": _an4(15, 16, _PHONES, units="characters", model=_LSTMP),
    "vgg-blstmp-wsj-characters": _prompts(15, 16, _PHONES, units="characters", model=_LSTMP),
    "vgg-blstm-librispeech": _prompts(15, 16, _SUBWORDS, units=100, model=_LSTM),
    "vgg-blstm-librispeech-subwords": _an4(15, 16, _SUBWORDS, units=60, model=_LSTM),
    "transformer-wsj": _an4(20, 8, _PHONES, units="characters", model=_TRANSFORMER),
    "transformer-librispeech": _prompts(25, 8, _SUBWORDS, units=100, model=_TRANSFORMER),
}
