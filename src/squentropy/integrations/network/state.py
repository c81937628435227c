"""What training goes on from: the network, the optimiser's numbers and the random generator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from squentropy.integrations.network.layers import FlatNetwork, new_module


@dataclass
class State:
    """A network between two calls that train it.

    Attributes:
        module: The network, on the CPU.
        generator: The state of the random generator.
        optimizer: The optimiser's numbers for all weights and biases as one flat tensor.
        optimizer_settings: Which optimiser they belong to; another one starts anew.
    """

    module: nn.Sequential
    generator: Tensor
    optimizer: dict[str, Any] = field(default_factory=dict)
    optimizer_settings: tuple[str, dict[str, Any]] | None = None

    @classmethod
    def initial(cls, widths: Sequence[int], dtype: torch.dtype, seed: int) -> Self:
        """A network with random weights.

        Examples:
            >>> State.initial((4, 3), torch.float32, seed=0).module[0].weight.shape
            torch.Size([3, 4])
        """
        generator = torch.Generator().manual_seed(seed)
        return cls(new_module(widths, dtype, generator), generator.get_state())

    @property
    def dtype(self) -> torch.dtype:
        """What the network computes in."""
        return next(self.module.parameters()).dtype

    def random_generator(self) -> torch.Generator:
        """A generator that goes on where the last one stopped."""
        generator = torch.Generator()
        generator.set_state(self.generator)
        return generator

    def resume(self, optimizer: Optimizer, settings: tuple[str, dict[str, Any]]) -> None:
        """Give an optimiser the numbers of the last one, if it is of the same kind."""
        if self.optimizer and settings == self.optimizer_settings:
            optimizer.load_state_dict({**optimizer.state_dict(), "state": {0: self.optimizer}})

    def keep(
        self,
        network: FlatNetwork,
        optimizer: Optimizer,
        settings: tuple[str, dict[str, Any]],
        generator: torch.Generator,
    ) -> None:
        """Take over what training has reached."""
        network.write_to(self.module)
        state = optimizer.state_dict()["state"].get(0, {})
        self.optimizer = {name: value.cpu() if isinstance(value, Tensor) else value for name, value in state.items()}
        self.optimizer_settings = settings
        self.generator = generator.get_state()

    def tensors(self) -> dict[str, Tensor]:
        """Everything but the settings as tensors by name."""
        module = {f"module.{name}": value for name, value in self.module.state_dict().items()}
        optimizer = {f"optimizer.{name}": torch.as_tensor(value) for name, value in self.optimizer.items()}
        return {**module, **optimizer, "generator": self.generator}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], settings: tuple[str, dict[str, Any]]) -> Self:
        """The state that `tensors` came from."""
        weights = _with_prefix("module.", tensors)
        names = sorted((name for name in weights if name.endswith("weight")), key=lambda name: int(name.split(".")[0]))
        widths = [weights[names[0]].shape[1], *(weights[name].shape[0] for name in names)]
        module = new_module(widths, weights[names[0]].dtype, torch.Generator())
        module.load_state_dict(weights)
        return cls(module, tensors["generator"], _with_prefix("optimizer.", tensors), settings)


def _with_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
