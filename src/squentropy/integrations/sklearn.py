"""A classifier for scikit-learn: a fully connected network that is trained with squentropy or any other loss."""

import os
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
from torch import Tensor

from squentropy.integrations.network import saved
from squentropy.integrations.network.batch_loss import BatchLoss
from squentropy.integrations.network.description import (
    KIND,
    VERSION,
    describe,
    fitted_attributes,
    parameters_of,
)
from squentropy.integrations.network.layers import FlatNetwork
from squentropy.integrations.network.parameters import (
    check_number,
    check_whole,
    chosen_device,
    hidden_widths,
    seed_from,
)
from squentropy.integrations.network.rows import Rows
from squentropy.integrations.network.state import State
from squentropy.integrations.network.threads import as_many_threads_as_pay
from squentropy.integrations.network.training import Course, History, Labelled, make_optimizer, run_epoch, train
from squentropy.integrations.network.validation_rows import validation_rows

__all__ = ["SquentropyClassifier"]

# So few rows in one batch cost nothing to compute in float64, and then neither their order nor a repetition in place of
# a weight changes what is learnt.
_FEW_ROWS = 1000
_PREDICTED_AT_ONCE = 8192


class SquentropyClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fully connected network with ReLU for scikit-learn, trained with squentropy.

    Inputs should be standardised, which a pipeline does: `make_pipeline(StandardScaler(), SquentropyClassifier())`.
    It computes in float32, and in float64 if all rows, up to 1000, fit one batch; probabilities and decisions have the
    dtype of the inputs. Sparse inputs stay sparse until a batch of them is needed.

    Args:
        hidden_layer_sizes: Widths of the hidden layers, by default those of the paper's network for tables; `()` for a
            linear model.
        loss: A name of `squentropy.LOSSES`, or a function of logits (N, C) and class indices (N,) that returns each
            row's loss (N,).
        loss_params: Further arguments of the loss, such as `{"square_weight": 0.5, "label_smoothing": 0.1}`.
        optimizer: A class of torch.optim that treats each number by itself: "Adam", "AdamW", "SGD", ...
        optimizer_params: Further arguments of the optimiser, such as `{"momentum": 0.9}`.
        learning_rate: Of the optimiser.
        weight_decay: Of the optimiser, on weights and biases.
        batch_size: Rows in a batch; "auto" is a twentieth of the rows, but at least 32 and at most 200.
        epochs: Epochs at most.
        early_stopping: Whether to hold out `validation_fraction` of the rows, watch their loss instead of that of the
            training rows, and keep the weights for which it was lowest.
        validation_fraction: Of the rows, from each class its share.
        patience: Stop after so many epochs without a better loss; None trains for all epochs.
        tol: How much lower a loss must be to be better.
        class_weight: Weights `{label: weight}` of the classes, or "balanced" for the inverse of their frequency.
        warm_start: Whether `fit` goes on from the present weights.
        device: "cpu", "cuda", or "auto" for a GPU where there is one.
        random_state: Seed of the initial weights, the order of the rows and the choice of validation rows: a whole
            number or a `numpy.random.RandomState`; None for another one each time. The states of NumPy's and PyTorch's
            own generators are neither used nor changed.
        verbose: Whether to print each epoch's loss.

    Attributes:
        classes_: Labels (C,), sorted.
        module_: The network as an `nn.Sequential` on the CPU: features (N, d) to logits (N, C).
        n_features_in_: Number of features d.
        feature_names_in_: Their names, if the inputs were a data frame.
        n_iter_: Number of epochs.
        loss_curve_: Mean loss of the training batches in each epoch.
        validation_loss_curve_: Mean loss of the validation rows after each epoch, with early stopping.

    Examples:
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> classifier = SquentropyClassifier(hidden_layer_sizes=(16,), random_state=0).fit(X, y)
        >>> classifier.predict_proba(X[:2]).shape
        (2, 3)
    """

    def __init__(
        self,
        hidden_layer_sizes: int | Sequence[int] = (64, 128, 64),
        *,
        loss: str | Callable[..., Tensor] = "squentropy",
        loss_params: Mapping[str, Any] | None = None,
        optimizer: str = "Adam",
        optimizer_params: Mapping[str, Any] | None = None,
        learning_rate: float = 0.002,
        weight_decay: float = 0.0,
        batch_size: int | str = "auto",
        epochs: int = 200,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int | None = 10,
        tol: float = 1e-4,
        class_weight: Mapping[Any, float] | str | None = None,
        warm_start: bool = False,
        device: str = "cpu",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.loss = loss
        self.loss_params = loss_params
        self.optimizer = optimizer
        self.optimizer_params = optimizer_params
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.epochs = epochs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.tol = tol
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the network.

        Args:
            X: Numbers (N, d): an array, a data frame or a sparse matrix, without missing values.
            y: Labels (N,) of at least two classes.
            sample_weight: Weights (N,); a weight of 0 leaves a row out, a weight of 2 counts it twice.

        Returns:
            The classifier itself.
        """
        self._check_parameters()
        goes_on = self.warm_start and hasattr(self, "module_")
        X, y = self._checked(X, y, reset=not goes_on)
        labels, codes = np.unique(y, return_inverse=True)
        if goes_on and not np.array_equal(labels, self.classes_):
            raise ValueError(f"y has the classes {labels}, but the network has {self.classes_}: use warm_start=False")
        if len(labels) < 2:
            raise ValueError(f"y has only one class, {labels.tolist()[0]!r}: a classifier needs rows of two or more")
        weight = self._weight(X, codes, labels, sample_weight)
        if weight is not None:
            counted = weight > 0
            X, codes, weight = X[counted], codes[counted], weight[counted] / weight[counted].mean()
        if not goes_on:
            few = X.shape[0] <= min(self._rows_in_batch(X.shape[0]), _FEW_ROWS)
            self._start(X.shape[1], labels, torch.float64 if few else torch.float32)
        self._learn(X, codes, weight, Course(self.epochs, self.patience, self.tol))
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Train for one epoch on some rows; `epochs` and early stopping play no part.

        Args:
            X: Numbers (N, d).
            y: Labels (N,).
            classes: All labels that will ever come; needed in the first call.
            sample_weight: Weights (N,), factors on the learning rate.

        Returns:
            The classifier itself.
        """
        self._check_parameters()
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight is {self.class_weight!r}, but partial_fit does not see all rows: "
                "give the weights as a dict"
            )
        is_first = not hasattr(self, "module_")
        X, y = self._checked(X, y, reset=is_first)
        if is_first and classes is None:
            raise ValueError("classes is None; give all labels in the first call of partial_fit")
        labels = self.classes_ if classes is None else np.unique(classes)
        if len(labels) < 2:
            raise ValueError(f"classes has {len(labels)} class; a classifier needs at least two")
        if not is_first and not np.array_equal(labels, self.classes_):
            raise ValueError(f"classes is {labels}, but the network has {self.classes_}: leave classes out")
        unknown = np.setdiff1d(y, labels)
        if len(unknown):
            raise ValueError(f"y has the label {unknown.tolist()[0]!r}, which is not among the classes {labels}")
        codes = np.searchsorted(labels, y)
        weight = self._weight(X, codes, labels, sample_weight)
        if is_first:
            self._start(X.shape[1], labels, torch.float32)
        self._learn(X, codes, weight, None)
        return self

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return the logits (N, C), or for two classes the second minus the first (N,)."""
        logits, dtype = self._logits(X)
        return (logits[:, 1] - logits[:, 0] if logits.shape[1] == 2 else logits).numpy().astype(dtype)

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the probabilities (N, C) of the classes, in the order of `classes_`."""
        logits, dtype = self._logits(X)
        probabilities: NDArray[Any] = logits.softmax(1).numpy().astype(dtype)
        return probabilities

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable label (N,) of each row."""
        logits, _ = self._logits(X)
        labels: NDArray[Any] = self.classes_[logits.argmax(1).numpy()]
        return labels

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted classifier to one safetensors file, which `load` reads: no pickle, nothing to execute.

        The loss must have a name; a `random_state` that is no number is left out.
        """
        check_is_fitted(self)
        if not isinstance(self.loss, str):
            raise ValueError("a classifier with a function as its loss cannot be saved: save clf.module_.state_dict()")
        saved.write(path, self._state.tensors(), describe(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a classifier from a file that `save` wrote."""
        tensors, description = saved.read(path, KIND, VERSION)
        classifier = cls(**parameters_of(description))
        for name, value in fitted_attributes(description).items():
            setattr(classifier, name, value)
        classifier._state = State.from_tensors(tensors, classifier._optimizer_settings())
        classifier.module_ = classifier._state.module
        return classifier

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_parameters(self) -> None:
        check_whole("epochs", self.epochs, 1)
        if self.batch_size != "auto":
            check_whole("batch_size", self.batch_size, 1)
        if self.patience is not None:
            check_whole("patience", self.patience, 1)
        check_number("learning_rate", self.learning_rate, 0.0, above=True)
        check_number("weight_decay", self.weight_decay, 0.0)
        check_number("tol", self.tol, 0.0)
        check_number("validation_fraction", self.validation_fraction, 0.0, above=True, most=0.9)
        if isinstance(self.class_weight, str) and self.class_weight != "balanced":
            raise ValueError(f'class_weight is {self.class_weight!r}; use "balanced", a dict or None')
        chosen_device(self.device)
        hidden_widths(self.hidden_layer_sizes)
        self._optimizer_of(torch.zeros(1))

    def _checked(self, X: Any, y: Any, reset: bool) -> tuple[Any, NDArray[Any]]:
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=(np.float64, np.float32), order="C", reset=reset)
        check_classification_targets(y)
        return X, y

    def _weight(
        self, X: Any, codes: NDArray[np.int64], labels: NDArray[Any], sample_weight: Any
    ) -> NDArray[np.float64] | None:
        """Weights (N,) of rows and classes together, or None if there are none."""
        if sample_weight is None and self.class_weight is None:
            return None
        weight = np.array(_check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True))
        if self.class_weight is not None:
            y, rows = labels[codes], weight if self.class_weight == "balanced" else None
            with np.errstate(divide="ignore"):  # a class whose rows all have the weight 0 keeps it
                by_class = compute_class_weight(self.class_weight, classes=labels, y=y, sample_weight=rows)
            weight *= np.where(np.isfinite(by_class), by_class, 0.0)[codes]
        if not weight.sum() > 0:
            raise ValueError("all rows have the weight 0: give some of them a positive one")
        return weight

    def _start(self, num_features: int, labels: NDArray[Any], dtype: torch.dtype) -> None:
        """A network with random weights, and nothing learnt."""
        BatchLoss(self.loss, self.loss_params, len(labels))  # says what is wrong before anything is kept
        widths = (num_features, *hidden_widths(self.hidden_layer_sizes), len(labels))
        self._state = State.initial(widths, dtype, seed_from(self.random_state))
        self.classes_, self.module_ = labels, self._state.module
        self.loss_curve_: list[float] = []
        self.validation_loss_curve_: list[float] = []

    def _learn(self, X: Any, codes: NDArray[np.int64], weight: Any, course: Course | None) -> None:
        """Train for a course, or for one epoch, and keep what is learnt."""
        generator, settings = self._state.random_generator(), self._optimizer_settings()
        network = FlatNetwork(self.module_, chosen_device(self.device))
        optimizer = self._optimizer_of(network.parameter)
        self._state.resume(optimizer, settings)
        loss = BatchLoss(self.loss, self.loss_params, len(self.classes_))
        parts: list[Any] = [slice(None)]
        if course is not None and self.early_stopping:
            watched = validation_rows(codes, self.validation_fraction, generator)
            parts = [~watched, watched]
        data, *validation = (
            self._labelled(X[part], codes[part], None if weight is None else weight[part], network) for part in parts
        )
        batch_size = self._rows_in_batch(len(data))
        with as_many_threads_as_pay(network.multiplications * min(batch_size, len(data))):
            if course is None:
                history = History([run_epoch(network, optimizer, loss, data, batch_size, generator)])
                self._report(history)
            else:
                watched_data = validation[0] if validation else None
                history = train(
                    network, optimizer, loss, data, watched_data, course, batch_size, generator, self._report
                )
        self._state.keep(network, optimizer, settings, generator)
        self.loss_curve_ += history.losses
        self.validation_loss_curve_ += history.validation_losses
        self.n_iter_ = len(self.loss_curve_)

    def _rows_in_batch(self, rows: int) -> int:
        return min(max(rows // 20, 32), 200) if isinstance(self.batch_size, str) else self.batch_size

    def _labelled(self, X: Any, codes: NDArray[np.int64], weight: Any, network: FlatNetwork) -> Labelled:
        like = network.parameter
        return Labelled(
            Rows(X, like.dtype, like.device),
            torch.from_numpy(codes).to(like.device),
            None if weight is None else torch.from_numpy(weight).to(like),
        )

    def _optimizer_of(self, parameter: Tensor) -> torch.optim.Optimizer:
        return make_optimizer(self.optimizer, parameter, self.learning_rate, self.weight_decay, self.optimizer_params)

    def _optimizer_settings(self) -> tuple[str, dict[str, Any]]:
        return self.optimizer, dict(self.optimizer_params or {})

    def _report(self, history: History) -> None:
        if self.verbose:
            number = len(self.loss_curve_) + len(history.losses)
            line = f"epoch {number}: loss {history.losses[-1]:.4f}"
            if history.validation_losses:
                line += f", validation loss {history.validation_losses[-1]:.4f}"
            print(line, flush=True)

    def _logits(self, X: Any) -> tuple[Tensor, np.dtype[Any]]:
        """Logits (N, C) in float64, and the dtype of the inputs."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), order="C", reset=False)
        device = chosen_device(self.device)
        module = self.module_ if device.type == "cpu" else deepcopy(self.module_).to(device)
        rows = Rows(X, self._state.dtype, device)
        with torch.inference_mode():
            parts = [module(part).double().cpu() for part in rows.in_order(_PREDICTED_AT_ONCE)]
        return torch.cat(parts), X.dtype
