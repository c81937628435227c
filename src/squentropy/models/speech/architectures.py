"""The four models of the paper's speech rows, with the sizes of ESPnet's recipes."""

from __future__ import annotations

from collections.abc import Sequence

from squentropy.models.speech.attention import LocationAttention
from squentropy.models.speech.encoders import ProjectedRnn, StackedRnn, Vgg
from squentropy.models.speech.model import AttentionCtc, Chain
from squentropy.models.speech.recurrent_decoder import RecurrentDecoder
from squentropy.models.speech.transformer import Sizes, TransformerDecoder, TransformerEncoder

_CHANNELS = 10  # of the convolution over earlier weights of attention


def projected_gru(
    num_features: int,
    num_symbols: int,
    *,
    hidden: int = 320,
    subsample: Sequence[int] = (1, 2, 2, 1, 1),
    decoder_hidden: int = 300,
    reach: int = 100,
    dropout: float = 0.0,
) -> AttentionCtc:
    """Projected bidirectional GRU layers, and attention that sees all it attended to (TIMIT).

    `reach` is how many frames on either side the attention sees of its earlier weights.

    Examples:
        >>> sum(each.numel() for each in projected_gru(83, 42).parameters())
        8083135
    """
    encoder = ProjectedRnn(num_features, hidden=hidden, projection=hidden, subsample=subsample, dropout=dropout)
    decoder = _decoder(
        hidden, num_symbols, decoder_hidden, 1, attention_size=hidden, reach=reach, coverage=True, dropout=dropout
    )
    return AttentionCtc(encoder, decoder, num_symbols)


def vgg_projected_lstm(
    num_features: int,
    num_symbols: int,
    *,
    channels: Sequence[int] = (64, 128),
    hidden: int = 320,
    num_layers: int = 6,
    decoder_hidden: int = 300,
    reach: int = 100,
    dropout: float = 0.0,
) -> AttentionCtc:
    """VGG and projected bidirectional LSTM layers (WSJ). VGG quarters the frames, so that no layer drops any."""
    vgg = Vgg(num_features, channels)
    layers = ProjectedRnn(
        vgg.output_size,
        hidden=hidden,
        projection=hidden,
        subsample=(1,) * num_layers,
        kind="LSTM",
        dropout=dropout,
    )
    decoder = _decoder(hidden, num_symbols, decoder_hidden, 1, attention_size=hidden, reach=reach, dropout=dropout)
    return AttentionCtc(Chain(vgg, layers), decoder, num_symbols)


def vgg_lstm(
    num_features: int,
    num_symbols: int,
    *,
    channels: Sequence[int] = (64, 128),
    hidden: int = 1024,
    num_layers: int = 5,
    decoder_layers: int = 2,
    reach: int = 100,
    dropout: float = 0.0,
) -> AttentionCtc:
    """VGG and bidirectional LSTM layers with one projection at their end (LibriSpeech)."""
    vgg = Vgg(num_features, channels)
    layers = StackedRnn(vgg.output_size, hidden=hidden, projection=hidden, num_layers=num_layers, dropout=dropout)
    decoder = _decoder(hidden, num_symbols, hidden, decoder_layers, attention_size=hidden, reach=reach, dropout=dropout)
    return AttentionCtc(Chain(vgg, layers), decoder, num_symbols)


def speech_transformer(
    num_features: int,
    num_symbols: int,
    *,
    width: int = 256,
    heads: int = 4,
    feed_forward: int = 2048,
    encoder_layers: int = 12,
    decoder_layers: int = 6,
    dropout: float = 0.1,
) -> AttentionCtc:
    """The Transformer, without dropout in its attention (WSJ, LibriSpeech)."""
    sizes = Sizes(width, heads, feed_forward, dropout)
    encoder = TransformerEncoder(num_features, num_layers=encoder_layers, sizes=sizes)
    decoder = TransformerDecoder(num_symbols, num_layers=decoder_layers, sizes=sizes)
    return AttentionCtc(encoder, decoder, num_symbols)


def _decoder(
    memory_size: int,
    num_symbols: int,
    hidden: int,
    num_layers: int,
    *,
    attention_size: int,
    reach: int,
    coverage: bool = False,
    dropout: float,
) -> RecurrentDecoder:
    attention = LocationAttention(
        memory_size, hidden, size=attention_size, channels=_CHANNELS, reach=reach, coverage=coverage
    )
    return RecurrentDecoder(
        memory_size, num_symbols, hidden=hidden, num_layers=num_layers, attention=attention, dropout=dropout
    )
