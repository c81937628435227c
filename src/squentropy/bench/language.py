"""Language: a step of Transformer-XL, its evaluation with and without memory, and fine-tuning beside a bare loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from squentropy.bench.case import Case, Step, Target
from squentropy.losses import squentropy
from squentropy.models.transformer_xl import TransformerXL
from squentropy.study import Recipe, Task, plan
from squentropy.study.optimization import learning_rate
from squentropy.study.samples import Shard
from squentropy.study.training import train
from squentropy.tasks.language_finetuning import classify
from squentropy.tasks.sequences import SequenceData, Sequences

BASELINE, OURS = "Transformer-XL, cross entropy", "Transformer-XL, squentropy"
SLIDING, WITH_MEMORY = "sliding window", "segments with memory"
BARE, STUDY = "bare loop", "study.training.train"
_SYMBOLS = 205


def step_steps(width: int, streams: int, length: int, device: torch.device) -> dict[str, Step]:
    """A step with each loss, all of one model: forward with memory, backward, Adam."""
    torch.manual_seed(0)
    model = _model(width, 4, memory=length).to(device)
    optimizer = torch.optim.Adam(model.parameters(), 1e-4)
    characters = torch.randint(_SYMBOLS, (streams, length + 1), device=device)
    _, memory = model(characters[:, :-1], None)

    def step(loss: Callable[[Tensor, Tensor], Tensor]) -> Step:
        def run() -> None:
            logits, _ = model(characters[:, :-1], memory)
            torch.autograd.backward(loss(logits.flatten(0, 1), characters[:, 1:].flatten()))
            optimizer.step()
            optimizer.zero_grad()

        return run

    return {BASELINE: step(F.cross_entropy), OURS: step(squentropy)}


def evaluation_steps(layers: int, context: int, characters: int, device: torch.device) -> dict[str, Step]:
    """Logits of as many characters, each from as many before it: a window for each, or segments with memory."""
    torch.manual_seed(0)
    model = _model(256, layers, eval_memory=context).to(device).eval()
    text = torch.randint(_SYMBOLS, (1, context + characters), device=device)
    with torch.no_grad():
        _, memory = model(text[:, :context], None)

    @torch.no_grad()
    def slide() -> Tensor:
        windows = text[0].unfold(0, context, 1)[1:]
        return torch.cat([model(window, None)[0][:, -1] for window in torch.split(windows, 16)])

    @torch.no_grad()
    def remember() -> Tensor:
        found, carried = [], memory
        for segment in torch.split(text[:, context:], context // 2, dim=1):
            logits, carried = model(segment, carried)
            found.append(logits[0])
        return torch.cat(found)

    return {SLIDING: slide, WITH_MEMORY: remember}


def _model(width: int, layers: int, **memory: Any) -> TransformerXL:
    return TransformerXL(
        _SYMBOLS, layers=layers, width=width, heads=width // 32, head_width=32, inner=4 * width, clamp=None, **memory
    )


def finetuning_steps(width: int, batches: int, device: torch.device) -> dict[str, Step]:
    """An epoch of fine-tuning a BERT of transformers by the study, and by a loop over the same batches."""
    data, recipe = _sentences(32 * batches), _RECIPE
    task = Task(
        name="finetuning",
        recipes={"small": recipe},
        load=lambda scale, data_dir: data,
        build=lambda data, recipe: _bert(width),
        forward=classify,
        keep_predictions=False,
    )
    (run,) = plan([task], ["cross_entropy"], 1, "small")
    return {BARE: lambda: _bare_loop(_bert(width), data, recipe), STUDY: lambda: train(run, task, data).last}


_RECIPE = Recipe(epochs=1, batch_size=32, learning_rate=2e-5, optimizer="AdamW", schedule="linear", clip_norm=1.0)


def _bare_loop(model: nn.Module, data: SequenceData, recipe: Recipe) -> int:
    """What a user would write; returns how many of the test part are right."""
    optimizer = torch.optim.AdamW(model.parameters(), recipe.learning_rate)
    batches = list(data.train_batches(recipe, torch.Generator().manual_seed(0), Shard()))
    model.train()
    for number, (batch,) in enumerate(batches):
        optimizer.param_groups[0]["lr"] = learning_rate(recipe, number, len(batches))
        torch.autograd.backward(F.cross_entropy(classify(model, batch, None).logits, batch.target))
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    with torch.no_grad():
        right = [
            (classify(model, batch, None).logits.argmax(1) == batch.target).sum() for batch in data.test_batches(recipe)
        ]
    return int(sum(right))


def _sentences(rows: int) -> SequenceData:
    generator = torch.Generator().manual_seed(0)

    def part(rows: int) -> Sequences:
        lengths = torch.randint(8, 40, (rows,), generator=generator).tolist()
        pieces = [torch.randint(5, 1000, (length,), generator=generator) for length in lengths]
        columns = (pieces, [torch.zeros_like(each) for each in pieces], [torch.ones_like(each) for each in pieces])
        return Sequences(columns, torch.randint(2, (rows,), generator=generator))

    return SequenceData(name="noise", sha256="", num_classes=2, train=part(rows), test=part(32))


def _bert(width: int) -> nn.Module:
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(
        vocab_size=1000,
        hidden_size=width,
        num_hidden_layers=4,
        num_attention_heads=width // 32,
        intermediate_size=4 * width,
    )
    model: Any = BertForSequenceClassification(config)
    return model  # type: ignore[no-any-return]


LANGUAGE_CASES = [
    Case("language/step", partial(step_steps, 256, 8, 64), BASELINE, (Target(OURS, 1.02, BASELINE),)),
    Case("language/evaluation", partial(evaluation_steps, 4, 128, 128), SLIDING, (Target(WITH_MEMORY, 0.1, SLIDING),)),
    Case("language/finetuning", partial(finetuning_steps, 256, 8), BARE, (Target(STUDY, 1 / 0.95, BARE),)),
]
