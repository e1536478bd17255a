"""The two networks of DIME and their training, on plain arrays and PyTorch."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from emsco.scale.cuda.library import torch

from emsco._base.typing import BoolArray, FloatArray, IntArray, LabelArray

_EXPLORATION = (1.0, 0.1)  # share of random purchases, in each phase of training
_STATES = 16_000  # of rows on their way, in an epoch at most
_WALKS = 4  # of a row, in an epoch
_BATCH = 512
_PATIENCE = 10  # epochs without a lower loss that end a phase
_DROP = 0.3  # factor of the learning rate after a third of them
_POOL = 2**20  # random numbers for dropout: to draw them anew takes longer than the layers
_BLOCK = 8192  # rows judged at a time


class Step(NamedTuple):
    """Rows on their way, before a purchase; tensors of a line for each row.

    Attributes
    ----------
    bought : tensor of shape (n_rows, n_features)
        1 for features that a row knows, else 0.
    logits : tensor of shape (n_rows, n_classes)
    action : tensor of shape (n_rows,)
        The feature that is bought next, or -1 if the row stops.
    """

    bought: Any
    logits: Any
    action: Any


@dataclass(eq=False)
class Networks:
    """A network that labels rows of which some features are known, and one that values the others.

    Attributes
    ----------
    predictor, valuer : list of (tensor, tensor)
        Weights, of shape (n_before, n_after), and intercepts of each layer.
    input_feature : tensor of shape (n_inputs,)
    costs, fees : tensor of shape (n_features,), tensor of shape (n_fees,)
    members : tensor of shape (n_fees, n_features)
        1 for features that share a fee, else 0.
    """

    predictor: list[tuple[Any, Any]]
    valuer: list[tuple[Any, Any]]
    input_feature: Any
    costs: Any
    fees: Any
    members: Any

    @classmethod
    def train(
        cls,
        rows: FloatArray,
        labels: LabelArray,
        weights: FloatArray,
        *,
        held_out: BoolArray,
        n_classes: int,
        input_feature: IntArray,
        costs: FloatArray,
        fees: FloatArray | IntArray,
        members: BoolArray,
        width: int,
        dropout: float,
        learning_rate: float,
        max_epochs: int,
        seed: int,
        device: Any,
    ) -> Networks:
        """Train both networks; rows that are held out decide when to stop."""

        def tensor(array: Any, kind: Any = torch.float32) -> Any:
            return torch.tensor(np.asarray(array), dtype=kind, device=device)

        random = torch.Generator(device).manual_seed(seed)
        n_inputs = rows.shape[1] + len(costs)
        with _one_thread():
            networks = cls(
                _layers((n_inputs, width, width, n_classes), random),
                _layers((n_inputs, width, width, len(costs)), random),
                tensor(input_feature, torch.int64),
                tensor(costs),
                tensor(fees),
                tensor(members),
            )
            data = tensor(rows), tensor(labels, torch.int64), tensor(weights)
            is_held_out = tensor(held_out, torch.bool)
            for exploration in _EXPLORATION:
                networks._train_phase(
                    tuple(part[~is_held_out] for part in data),
                    tuple(part[is_held_out] for part in data),
                    exploration=exploration,
                    dropout=dropout,
                    learning_rate=learning_rate,
                    max_epochs=max_epochs,
                    random=random,
                )
        return networks

    def judge(self, rows: FloatArray, price: float) -> tuple[FloatArray, BoolArray]:
        """Class probabilities of rows that buy while it is worth the price, and what they buy."""
        probabilities, bought = [], []
        with _one_thread(), torch.no_grad():
            for start in range(0, len(rows), _BLOCK):
                block = torch.tensor(rows[start : start + _BLOCK], dtype=torch.float32)
                steps = self._walk(block.to(self.costs.device), price)
                last = deque(steps, maxlen=1)[0]  # earlier steps take no memory
                probabilities.append(last.logits.double().softmax(dim=1).cpu().numpy())
                bought.append(last.bought.cpu().numpy() > 0)
        return np.concatenate(probabilities), np.concatenate(bought)

    def _walk(
        self, rows: Any, price: float = 0.0, exploration: float = 0.0, random: Any = None
    ) -> Iterator[Step]:
        """Let rows buy one feature after the other, and whatever is free then.

        A row stops when no feature is expected to lower its loss by more than `price` times its
        cost. With a share of exploration, so many purchases are random.
        """
        n_rows, device = len(rows), rows.device
        bought = torch.zeros((n_rows, len(self.costs)), device=device)
        bought[:, self._prices(bought[:1])[0] == 0] = 1.0
        everyone = torch.arange(n_rows, device=device)
        going = torch.ones(n_rows, dtype=torch.bool, device=device)
        while True:
            inputs = self._inputs(rows, bought)
            logits = _through(self.predictor, inputs)
            known = bought > 0
            rates = self._gains(inputs, logits) / self._prices(bought)
            best, action = rates.masked_fill(known, -torch.inf).max(dim=1)
            going = going & (best > price)
            if exploration:
                luck = torch.rand(rates.shape, generator=random, device=device)
                explores = torch.rand(n_rows, generator=random, device=device) < exploration
                any_other = luck.masked_fill(known, -1.0).argmax(dim=1)
                action = torch.where(explores, any_other, action)
            yield Step(bought, logits, torch.where(going, action, -1))
            if not going.any():
                return
            bought = bought.clone()
            bought[everyone[going], action[going]] = 1.0
            bought[(self._prices(bought) == 0) & going[:, None]] = 1.0

    def _inputs(self, rows: Any, bought: Any) -> Any:
        """Values of bought features, 0 for others, and which are bought."""
        return torch.cat([rows * bought[:, self.input_feature], bought], dim=1)

    def _prices(self, bought: Any) -> Any:
        """Cost of each feature for rows that have paid the fees of what they bought."""
        unpaid = self.fees * (bought @ self.members.T == 0)
        return self.costs + unpaid @ self.members

    def _gains(self, inputs: Any, logits: Any, drop: Any = None) -> Any:
        """Predicted fall of the log loss by each feature: a share of the entropy of the label."""
        log = logits.log_softmax(dim=1)
        entropy = -(log.exp() * log).sum(dim=1, keepdim=True)
        return torch.sigmoid(_through(self.valuer, inputs, drop)) * entropy

    def _train_phase(
        self,
        train: tuple[Any, ...],
        held_out: tuple[Any, ...],
        *,
        exploration: float,
        dropout: float,
        learning_rate: float,
        max_epochs: int,
        random: Any,
    ) -> None:
        """Train until the loss on rows held out stops falling; keep the best epoch's weights."""
        parameters = [part for layer in (*self.predictor, *self.valuer) for part in layer]
        optimiser = torch.optim.Adam(parameters, lr=learning_rate, fused=True)
        lowest_loss = self._loss(*held_out)
        best_parameters = [one.detach().clone() for one in parameters]
        n_since = 0  # epochs
        pool = torch.rand(_POOL, generator=random, device=random.device) >= dropout
        pool = pool.float() / (1.0 - dropout)
        for one in parameters:
            one.requires_grad_(requires_grad=True)
        for _ in range(max_epochs):
            self._train_epoch(train, exploration, optimiser, pool, random)
            loss = self._loss(*held_out)
            n_since += 1
            if loss < lowest_loss:
                lowest_loss = loss
                best_parameters = [one.detach().clone() for one in parameters]
                n_since = 0
            elif n_since > _PATIENCE:
                break
            elif n_since % (_PATIENCE // 3) == 0:
                optimiser.param_groups[0]["lr"] *= _DROP
        for one, best in zip(parameters, best_parameters, strict=True):
            one.requires_grad_(requires_grad=False).copy_(best)

    def _train_epoch(
        self,
        train: tuple[Any, ...],
        exploration: float,
        optimiser: Any,
        pool: Any,
        random: Any,
    ) -> None:
        """Let rows walk; then learn their labels, and what each purchase brought, in batches."""
        n_walks = min(_WALKS * len(train[0]), max(1, _STATES // (len(self.costs) + 1)))
        shuffled = [
            torch.randperm(len(train[0]), generator=random, device=random.device)
            for _ in range(-(-n_walks // len(train[0])))
        ]
        drawn = torch.cat(shuffled)[:n_walks]
        rows, labels, weights = (part[drawn] for part in train)
        with torch.no_grad():
            steps = list(self._walk(rows, 0.0, exploration, random))
            bought, logits, actions = (torch.stack(parts) for parts in zip(*steps, strict=True))
            losses = _losses(logits, labels)
        gains = losses[:-1] - losses[1:]

        def drop(layer: Any) -> Any:
            """Blank out units of a layer by random numbers from the pool."""
            last = len(pool) - layer.numel()
            start = torch.randint(last, (1,), generator=random, device=random.device)
            return layer * pool[int(start) :][: layer.numel()].view_as(layer)

        order = torch.randperm(actions.numel(), generator=random, device=random.device)
        for batch in order.split(_BATCH):
            step, row = batch // n_walks, batch % n_walks
            inputs = self._inputs(rows[row], bought[step, row])
            logits = _through(self.predictor, inputs, drop)
            label_loss = torch.nn.functional.cross_entropy(logits, labels[row], reduction="none")
            action = actions[step, row]
            expected = self._gains(inputs, logits.detach(), drop)
            expected = expected.gather(1, action.clamp(min=0)[:, None])[:, 0]
            seen = gains[step.clamp(max=len(gains) - 1), row]
            gain_loss = torch.where(action >= 0, (expected - seen).square(), 0.0)
            optimiser.zero_grad()
            (weights[row] * (label_loss + gain_loss)).mean().backward()
            optimiser.step()

    def _loss(self, rows: Any, labels: Any, weights: Any) -> float:
        """Mean log loss of rows over all steps of their walks."""
        with torch.no_grad():
            losses = [_losses(step.logits[None], labels)[0] for step in self._walk(rows)]
            return float((torch.stack(losses).mean(dim=0) * weights).sum() / weights.sum())


def _layers(sizes: tuple[int, ...], random: Any) -> list[tuple[Any, Any]]:
    """Random weights of layers, and intercepts of 0."""
    layers = []
    for before, after in pairwise(sizes):
        weights = torch.randn((before, after), generator=random, device=random.device)
        layers.append((weights * (1.0 / before) ** 0.5, torch.zeros(after, device=random.device)))
    return layers


def _through(layers: list[tuple[Any, Any]], inputs: Any, drop: Any = None) -> Any:
    """Send inputs through layers with ReLU in between; `drop` blanks out hidden units."""
    for weights, intercepts in layers[:-1]:
        inputs = torch.relu(inputs @ weights + intercepts)
        if drop is not None:
            inputs = drop(inputs)
    weights, intercepts = layers[-1]
    return inputs @ weights + intercepts


def _losses(logits: Any, labels: Any) -> Any:
    """Log loss of rows, from logits (n_steps, n_rows, n_classes)."""
    chances = logits.log_softmax(dim=2)
    return -chances.gather(2, labels.expand(len(logits), -1)[:, :, None])[:, :, 0]


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute on one thread: on small matrices, threads wait for each other."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(n_threads)
