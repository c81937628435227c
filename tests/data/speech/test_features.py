"""Features beside those of Kaldi's own code and of transformers; pitch of tones; the cache."""

import json
from itertools import pairwise

import numpy as np
import pytest
import torch
from kaldi_native_fbank import FbankOptions, OnlineFbank
from transformers.audio_utils import mel_filter_bank, spectrogram, window_function

from squentropy.data import DataError
from squentropy.data.speech.corpus import Utterance
from squentropy.data.speech.features import FeatureKind, cached_features
from squentropy.data.speech.filter_banks import log_mel, mel_filters
from squentropy.data.speech.pitch import _best_path, pitch_features, track_pitch
from tests.data.speech.miniature import tones, write

PLAIN = FeatureKind(mels=20, pitch=False)


def wave(rate, seconds=0.7):
    """Something like a voice: a gliding pitch with overtones, and noise."""
    time = torch.arange(int(rate * seconds)) / rate
    phase = 2 * torch.pi * (110 * time + 60 * time**2)
    voice = sum(torch.sin(k * phase) / k for k in range(1, 12))
    return 3000 * voice + 50 * torch.randn(len(time), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(("rate", "mels"), [(16_000, 80), (8_000, 40)])
def test_filter_banks_are_kaldis(rate, mels):
    options = FbankOptions()
    options.frame_opts.samp_freq, options.frame_opts.dither, options.mel_opts.num_bins = rate, 0.0, mels
    computer = OnlineFbank(options)
    computer.accept_waveform(rate, wave(rate).tolist())
    computer.input_finished()
    expected = torch.tensor(np.stack([computer.get_frame(i) for i in range(computer.num_frames_ready)]))
    torch.testing.assert_close(log_mel(wave(rate), rate, mels), expected, atol=2e-3, rtol=0)


def test_filter_banks_are_those_of_transformers():
    filters = mel_filter_bank(257, 80, 20, 8000, 16_000, norm=None, mel_scale="kaldi", triangularize_in_mel_space=True)
    expected = spectrogram(
        wave(16_000).double().numpy(),
        window_function(400, "povey", periodic=False),
        frame_length=400,
        hop_length=160,
        fft_length=512,
        power=2.0,
        center=False,
        preemphasis=0.97,
        mel_filters=filters,
        log_mel="log",
        mel_floor=float(np.finfo(np.float32).eps),
        remove_dc_offset=True,
    ).T
    found = log_mel(wave(16_000).double(), 16_000).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(mel_filters(80, 512, 16_000), filters, atol=1e-12)


@pytest.mark.parametrize("pitch", [70.0, 123.0, 260.0, 380.0])
@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050])
def test_the_pitch_of_a_voice_is_found(pitch, rate):
    time = torch.arange(rate // 2) / rate
    voice = sum(torch.sin(2 * torch.pi * k * pitch * time) / k for k in range(1, 8))
    track = track_pitch(voice, rate)
    assert len(track.pitch) == len(log_mel(voice, rate, mels=20))
    inner = slice(2, -6)  # at the end a period later there is silence
    assert ((track.pitch[inner] / pitch - 1).abs() < 0.01).all()
    assert (track.correlation[inner] > 0.98).all()


def test_a_gliding_pitch_is_followed():
    rate, time = 16_000, torch.arange(16_000) / 16_000
    track = track_pitch(torch.sin(2 * torch.pi * (100 * time + 50 * time**2)), rate).pitch[2:-6]
    seconds = (torch.arange(len(track)) + 2) * 0.01 + 0.0125 + 0.005  # the middle of the two periods compared
    assert ((track / (100 + 100 * seconds) - 1).abs() < 0.02).all()


def test_noise_has_no_voice_and_the_level_of_a_steady_pitch_is_taken_away():
    noise = torch.randn(16_000, generator=torch.Generator().manual_seed(1))
    assert track_pitch(noise, 16_000).correlation.mean() < 0.5
    tone = torch.sin(2 * torch.pi * 150 * torch.arange(16_000) / 16_000)
    voiced, level, slope = pitch_features(tone, 16_000)[2:-8].T
    assert (voiced < pitch_features(noise, 16_000)[:, 0].mean()).all()
    assert level.abs().max() < 0.05
    assert slope.abs().max() < 0.1


def test_the_best_path_is_the_best_of_all():
    costs = torch.rand(4, 5, generator=torch.Generator().manual_seed(2)) * 1e-4
    penalty = 0.1 * np.log(1.005) ** 2

    def cost(path):
        jumps = sum((a - b) ** 2 for a, b in pairwise(path))
        return float(sum(costs[t, state] for t, state in enumerate(path))) + penalty * jumps

    every = np.stack(np.meshgrid(*[range(5)] * 4), -1).reshape(-1, 4).tolist()
    assert _best_path(costs).tolist() == min(every, key=cost)


def test_silence_and_what_is_too_short_give_numbers_or_nothing():
    silence = torch.zeros(4000)
    assert torch.isfinite(log_mel(silence, 16_000)).all()
    assert torch.isfinite(pitch_features(silence, 16_000)).all()
    assert log_mel(silence[:300], 16_000).shape == (0, 80)
    assert pitch_features(silence[:300], 16_000).shape == (0, 3)


@pytest.fixture
def utterances(tmp_path, monkeypatch):
    monkeypatch.setenv("SQUENTROPY_CACHE", str(tmp_path / "cache"))
    found = []
    for name in ("ace", "bed", "cab"):
        path = tmp_path / f"{name}.flac"
        write(path, tones(name), "FLAC")
        found.append(Utterance(name, path, name))
    return found


def test_features_are_computed_once_and_read_again(utterances, tmp_path):
    first = cached_features(utterances, 16_000, PLAIN)
    exact = torch.cat([first.of(i) for i in range(3)]).double()
    torch.testing.assert_close(first.mean, exact.mean(0).float())
    torch.testing.assert_close(first.deviation, exact.std(0, correction=0).float())
    assert first.lengths.tolist() == [28, 28, 28]
    utterances[0].recording.touch()
    (written,) = (tmp_path / "cache" / "features").glob("*.bin")
    stamp = written.stat().st_mtime_ns
    assert cached_features(utterances, 16_000, PLAIN).sha256 == first.sha256
    assert written.stat().st_mtime_ns == stamp


def test_other_sound_or_other_features_are_computed_anew(utterances, tmp_path):
    first = cached_features(utterances, 16_000, PLAIN)
    assert cached_features(utterances, 16_000, FeatureKind(20, pitch=True)).of(0).shape == (28, 23)
    write(utterances[1].recording, tones("fad"), "FLAC")
    assert cached_features(utterances, 16_000, PLAIN).sha256 != first.sha256
    assert len(list((tmp_path / "cache" / "features").glob("*.bin"))) == 3


def test_a_damaged_cache_is_named_and_kept(utterances, tmp_path):
    cached_features(utterances, 16_000, PLAIN)
    (path,) = (tmp_path / "cache" / "features").glob("*.bin")
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"\.bin is damaged: remove it"):
        cached_features(utterances, 16_000, PLAIN)
    assert path.read_bytes() == content


def test_a_cache_that_was_not_finished_is_written_again(utterances, tmp_path):
    first = cached_features(utterances, 16_000, PLAIN)
    (description,) = (tmp_path / "cache" / "features").glob("*.json")
    description.unlink()
    description.with_suffix(".bin").write_bytes(b"half")
    assert cached_features(utterances, 16_000, PLAIN).sha256 == first.sha256
    assert json.loads(description.read_text())["names"] == ["ace", "bed", "cab"]


def test_bad_recordings_are_left_out_and_named(utterances, tmp_path):
    bad = {
        "empty": b"",
        "text": b"this is no sound",
        "cut": utterances[0].recording.read_bytes()[:60],
    }
    for name, content in bad.items():
        (tmp_path / name).write_bytes(content)
    write(tmp_path / "stereo", np.stack([tones("ace")] * 2, axis=1), "WAV")
    write(tmp_path / "slow", tones("ace", rate=8000), "WAV", rate=8000)
    write(tmp_path / "short", tones("a")[:900], "WAV")
    write(tmp_path / "none", np.zeros(0), "WAV")
    (tmp_path / "shorten").write_bytes(
        b"NIST_1A\n   1024\nsample_coding -s26 pcm,embedded-shorten-v2.00\n" + b"\0" * 2000
    )
    names = [*bad, "stereo", "slow", "short", "none", "shorten"]
    found = cached_features([*utterances, *(Utterance(n, tmp_path / n, n) for n in names)], 16_000, PLAIN)
    assert found.names == ("ace", "bed", "cab")
    reasons = dict(found.faults)
    assert list(reasons) == names
    assert reasons["empty"] == "the file is empty"
    assert reasons["text"].startswith("no sound can be read from it")
    assert reasons["stereo"] == "it has 2 channels, not one"
    assert reasons["slow"] == "it has 8000 samples a second, fewer than 16000"
    assert reasons["short"] == "it has 4 frames of 10 ms, fewer than 7"
    assert reasons["none"] == "it has no samples"
    assert "sph2pipe" in reasons["shorten"]
    with pytest.raises(DataError, match="none of 1 utterances can be used: empty the file is empty"):
        cached_features([Utterance("empty", tmp_path / "empty", "a")], 16_000, PLAIN)


def test_more_samples_a_second_are_made_fewer(utterances, tmp_path):
    fast = tmp_path / "fast.wav"
    write(fast, tones("ace", rate=48_000), "WAV", rate=48_000)
    found = cached_features([utterances[0], Utterance("fast", fast, "ace")], 16_000, PLAIN)
    assert found.of(1).shape == (28, 20)
    # The tones are the same; only the faint noise between them is not.
    loud = found.of(0) > found.of(0).max() - 5
    assert (found.of(0) - found.of(1))[loud].abs().max() < 0.2
