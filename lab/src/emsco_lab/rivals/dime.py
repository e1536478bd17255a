"""DIME: a network that predicts how much each feature would tell, and one that labels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from emsco import FeatureCosts
from emsco_lab.rivals.base import CostedClassifier, Grid, Judged, Setting
from emsco_lab.rivals.encoding import Flags, Floats, Scaling, Whole
from emsco_lab.rivals.light import dealt

_PRICES = np.logspace(-2, 2, 21).round(3).tolist()  # that tuning tries
# Rows held out to decide when to stop: a tenth, within these numbers, and never over a third.
_HELD_OUT = 0.1
_LEAST_HELD_OUT, _MOST_HELD_OUT = 50, 1000
_EXPLORATION = (1.0, 0.1)  # share of random purchases, in each phase of training
_STATES = 16_000  # of rows on their way, in an epoch at most
_WALKS = 4  # of a row, in an epoch
_BATCH = 512
_PATIENCE = 10  # epochs without a lower loss that end a phase
_DROP = 0.3  # factor of the learning rate after a third of them
_POOL = 2**20  # random numbers for dropout: to draw them anew takes longer than the layers
_BLOCK = 8192  # rows judged at a time


@dataclass(eq=False, repr=False, kw_only=True)
class DIME(CostedClassifier):
    """Two networks: one labels rows by the features they know, one values the features left.

    The second network predicts by how much each feature would lower the log loss of the first,
    which is an estimate of the conditional mutual information of feature and label. A row buys the
    feature with the highest prediction for its cost, and stops when none is above `price`.
    Features that cost nothing, or nothing more once a fee is paid, are bought at once.

    Both networks are trained together. Rows buy features, at first at random and then by the
    prediction with a tenth of random purchases; the first network learns the labels after every
    purchase, and the second what the purchase brought. A tenth of the rows is held out, at
    least 50 but never over a third; their loss over all steps tells when to stop.

    Parameters
    ----------
    price : float
        A feature is bought if it is predicted to lower the log loss by more than `price` times
        its cost, as a share of the cost of everything.
    width : int
        Units of each of the two hidden layers of a network.
    dropout : float
        Share of hidden units that are blanked out while training.
    learning_rate : float
    max_epochs : int
        Most epochs, of at most 16,000 purchases, for each of the two phases of training.
    device : {"cpu", "cuda"}
        Where PyTorch computes.

    Attributes
    ----------
    networks_ : Networks

    References
    ----------
    Gadgil, Covert, Lee: "Estimating Conditional Mutual Information for Dynamic Feature Selection",
    ICLR 2024.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> rival = DIME(costs=[1, 1, 8], price=0.5, random_state=0)
    >>> rival.fit(X, X[:, 0] > 0).decide(X[:3]).cost.tolist()  # doctest: +SKIP
    [1.0, 1.0, 1.0]
    """

    needs: ClassVar = {"torch": "'emsco-lab[dime]'"}
    choices: ClassVar = {"device": ("cpu", "cuda")}

    price: float = 1.0
    width: int = 128
    dropout: float = 0.3
    learning_rate: float = 1e-3
    max_epochs: int = 60
    device: str = "cpu"

    @classmethod
    def grid(cls, costs: FeatureCosts, n_rows: int) -> Grid:  # noqa: ARG003 - no units
        """Two shares of dropout; each fit contains prices from 0.01 to 100."""
        return [{"dropout": dropout, "price": _PRICES[-1]} for dropout in (0.1, 0.4)]

    def staged(self) -> Iterator[tuple[Setting, Self]]:
        """Yield this rival with other prices, and last with its own."""
        for price in (other for other in _PRICES if other != self.price):
            stage = copy(self)
            stage.price = price
            yield {"price": price}, stage
        yield {}, self

    def _fit(self, rows: Floats, labels: Whole, weights: Floats) -> Flags:
        import torch

        rng = check_random_state(self.random_state)
        n_held_out = np.clip(_HELD_OUT * len(rows), _LEAST_HELD_OUT, _MOST_HELD_OUT)
        held_out = dealt(labels, max(3, round(len(rows) / n_held_out)), rng) == 0
        self._scaling = Scaling.learn(rows, weights)
        data = (
            torch.tensor(self._scaled(rows), dtype=torch.float32),
            torch.tensor(labels),
            torch.tensor(weights / weights.mean(), dtype=torch.float32),
        )
        with _one_thread():
            self.networks_ = Networks(self, int(rng.randint(2**31 - 1)))
            train, scored = (
                [part[torch.tensor(which)].to(self.device) for part in data]
                for which in (~held_out, held_out)
            )
            for exploration in _EXPLORATION:
                self.networks_.train(train, scored, exploration)
            del self.networks_.random  # generators cannot be copied
        return np.ones(len(self.costs_.names), dtype=np.bool_)

    def _judge(self, rows: Floats) -> Judged:
        import torch

        probabilities, bought = [], []
        with _one_thread(), torch.no_grad():
            for start in range(0, len(rows), _BLOCK):
                block = torch.tensor(self._scaled(rows[start : start + _BLOCK]))
                for step in self.networks_.walk(block.float().to(self.device), self.price):
                    last = step  # earlier ones take no memory
                probabilities.append(last[1].double().softmax(dim=1).cpu().numpy())
                bought.append(last[0].cpu().numpy() > 0)
        return np.concatenate(probabilities), np.concatenate(bought), 1

    def _scaled(self, rows: Floats) -> Floats:
        """Standardise rows; values far off count by their logarithm."""
        return np.arcsinh(self._scaling.scaled(rows))


class Networks:
    """A network that labels rows of which some features are known, and one that values the others.

    Attributes
    ----------
    predictor, valuer : list of (tensor, tensor)
        Weights, of shape (n_before, n_after), and intercepts of each layer.
    costs, fees : tensor of shape (n_features,), tensor of shape (n_fees,)
        Shares of the cost of everything.
    members : tensor of shape (n_fees, n_features)
        1 for features that share a fee, else 0.
    """

    def __init__(self, rival: Any, seed: int) -> None:
        import torch

        def tensor(array: Any) -> Any:
            return torch.tensor(array, dtype=torch.float32, device=rival.device)

        prices, feature_of = rival._prices, rival.encoding_.input_feature
        self.dropout, self.learning_rate = rival.dropout, rival.learning_rate
        self.max_epochs = rival.max_epochs
        self.random = torch.Generator(rival.device).manual_seed(seed)
        self.input_feature = torch.tensor(feature_of, device=rival.device)
        self.costs, self.fees = (tensor(of / prices.total) for of in (prices.features, prices.fees))
        self.members = tensor(prices.members)
        sizes = len(feature_of) + len(self.costs), rival.width, rival.width
        self.predictor = self._layers(*sizes, len(rival.classes_))
        self.valuer = self._layers(*sizes, len(self.costs))

    def _layers(self, *sizes: int) -> list[tuple[Any, Any]]:
        """Random weights of layers, and intercepts of 0."""
        return [
            (
                self._draw("randn", before, after) * (1.0 / before) ** 0.5,
                self.costs.new_zeros(after),
            )
            for before, after in pairwise(sizes)
        ]

    def _draw(self, kind: str, *sizes: Any) -> Any:
        """Random numbers of a kind of PyTorch's."""
        import torch

        return getattr(torch, kind)(*sizes, generator=self.random, device=self.costs.device)

    def walk(self, rows: Any, price: float = 0.0, exploration: float = 0.0) -> Iterator[Any]:
        """Let rows buy one feature after the other, and whatever is free then.

        A row stops when no feature is expected to lower its loss by more than `price` times its
        cost. With a share of exploration, so many purchases are random.

        Yields
        ------
        tuple of tensors
            Before each purchase: 1 for features that a row knows, else 0; logits; and the feature
            that is bought next, or -1 if the row stops.
        """
        n_rows = len(rows)
        bought = rows.new_zeros((n_rows, len(self.costs)))
        bought[:, self._prices(bought[:1])[0] == 0] = 1.0
        going = rows.new_ones(n_rows).bool()
        while True:
            inputs = self._inputs(rows, bought)
            logits = _through(self.predictor, inputs)
            known = bought > 0
            rates = self._gains(inputs, logits) / self._prices(bought)
            best, action = rates.masked_fill(known, -np.inf).max(dim=1)
            going = going & (best > price)
            if exploration:
                luck = self._draw("rand", rates.shape)
                explores = self._draw("rand", n_rows) < exploration
                action = luck.masked_fill(known, -1.0).argmax(dim=1).where(explores, action)
            yield bought, logits, action.where(going, -1)
            if not going.any():
                return
            bought = bought.clone()
            here = going.nonzero()[:, 0]
            bought[here, action[here]] = 1.0
            bought[(self._prices(bought) == 0) & going[:, None]] = 1.0

    def train(self, data: Any, held_out: Any, exploration: float) -> None:
        """Train until the loss on rows held out stops falling; keep the best epoch's weights."""
        import torch

        parameters = [part for layer in (*self.predictor, *self.valuer) for part in layer]
        optimiser = torch.optim.Adam(parameters, lr=self.learning_rate, fused=True)
        lowest_loss, n_since = self._loss(*held_out), 0  # epochs
        best = [one.detach().clone() for one in parameters]
        pool = (self._draw("rand", _POOL) >= self.dropout).float() / (1.0 - self.dropout)
        for one in parameters:
            one.requires_grad_(True)  # noqa: FBT003 - PyTorch's name for it
        for _ in range(self.max_epochs):
            self._train_epoch(data, exploration, optimiser, pool)
            loss, n_since = self._loss(*held_out), n_since + 1
            if loss < lowest_loss:
                lowest_loss, n_since = loss, 0
                best = [one.detach().clone() for one in parameters]
            elif n_since > _PATIENCE:
                break
            elif n_since % (_PATIENCE // 3) == 0:
                optimiser.param_groups[0]["lr"] *= _DROP
        for one, kept in zip(parameters, best, strict=True):
            one.requires_grad_(False).copy_(kept)  # noqa: FBT003 - PyTorch's name for it

    def _train_epoch(self, data: Any, exploration: float, optimiser: Any, pool: Any) -> None:
        """Let rows walk; then learn their labels, and what each purchase brought, in batches."""
        import torch

        n_rows = len(data[0])
        n_walks = min(_WALKS * n_rows, max(1, _STATES // (len(self.costs) + 1)))
        shuffled = [self._draw("randperm", n_rows) for _ in range(-(-n_walks // n_rows))]
        drawn = torch.cat(shuffled)[:n_walks]
        rows, labels, weights = (part[drawn] for part in data)
        with torch.no_grad():
            steps = zip(*self.walk(rows, 0.0, exploration), strict=True)
            bought, logits, actions = map(torch.stack, steps)
            losses = _losses(logits, labels)
        gains = losses[:-1] - losses[1:]

        def drop(layer: Any) -> Any:
            """Blank out units of a layer by random numbers from the pool."""
            start = int(self._draw("randint", len(pool) - layer.numel(), (1,)))
            return layer * pool[start : start + layer.numel()].view_as(layer)

        for batch in self._draw("randperm", actions.numel()).split(_BATCH):
            step, row = batch // n_walks, batch % n_walks
            inputs = self._inputs(rows[row], bought[step, row])
            logits = _through(self.predictor, inputs, drop)
            label_loss = torch.nn.functional.cross_entropy(logits, labels[row], reduction="none")
            action = actions[step, row]
            expected = self._gains(inputs, logits.detach(), drop)
            expected = expected.gather(1, action.clamp(min=0)[:, None])[:, 0]
            seen = gains[step.clamp(max=len(gains) - 1), row]
            gain_loss = (expected - seen).square().where(action >= 0, 0.0)
            optimiser.zero_grad()
            (weights[row] * (label_loss + gain_loss)).mean().backward()
            optimiser.step()

    def _inputs(self, rows: Any, bought: Any) -> Any:
        """Values of bought features, 0 for others, and which are bought."""
        import torch

        return torch.cat([rows * bought[:, self.input_feature], bought], dim=1)

    def _prices(self, bought: Any) -> Any:
        """Cost of each feature for rows that have paid the fees of what they bought."""
        unpaid = self.fees * (bought @ self.members.T == 0)
        return self.costs + unpaid @ self.members

    def _gains(self, inputs: Any, logits: Any, drop: Any = None) -> Any:
        """Predicted fall of the log loss by each feature: a share of the entropy of the label."""
        log = logits.log_softmax(dim=1)
        entropy = -(log.exp() * log).sum(dim=1, keepdim=True)
        return _through(self.valuer, inputs, drop).sigmoid() * entropy

    def _loss(self, rows: Any, labels: Any, weights: Any) -> float:
        """Mean log loss of rows over all steps of their walks."""
        import torch

        with torch.no_grad():
            logits = torch.stack([step[1] for step in self.walk(rows)])
            losses = _losses(logits, labels).mean(dim=0)
        return float((losses * weights).sum() / weights.sum())


def _through(layers: list[tuple[Any, Any]], inputs: Any, drop: Any = None) -> Any:
    """Send inputs through layers with ReLU in between; `drop` blanks out hidden units."""
    for weights, intercepts in layers[:-1]:
        inputs = (inputs @ weights + intercepts).relu()
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
    import torch

    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(n_threads)
