"""Many L2-regularised logistic regressions at once, on a device.

Newton's method as in `emsco.models.logistic`, with the same start, guards and tolerance. A batch
always has the same number of places; a model that has converged leaves its place to the next. So
every sum and every solution has a fixed shape, and what a model becomes does not depend on the
others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, Report
from emsco.models.batches import mixing_of_pairs, n_outputs_of, orthonormal_basis
from emsco.models.logistic import MOST_PASSES, check_finite, tolerance_of, warn_unconverged
from emsco.scale.cuda.library import factorise, solve, torch
from emsco.scale.cuda.table import TrainTable

_MODELS = 512  # places of a batch
_PART = 128  # models that are added up together; only parts with unfinished models are
_BATCH_BYTES = 2**31
_QUEUE = 2**15  # models whose starts are held
_STALLED = 0.03  # refresh the Hessian where a pass shrank the gradient by less than this
_LONG_REACH = 1.5  # a mean change of logits past which a step of many classes is shortened
_ROUGH = 0.1  # a change of coefficients above which the Hessian of a sample of the rows will do
_NEAR = 2e-12  # a change of all coefficients together that moves no ninth decimal
_QUICK = 16  # times as many rows as a sample has take longer than launching its kernels
_START = 1e-6  # largest gradient per row of a start from a sample of the rows
_EXACT_AFTER = 12  # passes after which Hessians are exact: rounding may be what is in the way


@dataclass(slots=True, eq=False)
class _Places:
    """The models of a batch that are being fitted, a place each."""

    used: Any  # (n_places, n_parameters): the parameters that a model has
    coefs: Any
    step: Any
    factor: Any  # of the last Hessian, (n_places, n_parameters, n_parameters)
    slope: Any
    norm: Any
    curved: Any  # whether the next pass refreshes the factor
    sampled: Any  # whether the factor is that of a sample
    fresh: Any  # whether the factor is new, and not of a sample
    passes: Any

    @classmethod
    def empty(cls, n_places: int, n_parameters: int, device: Any) -> _Places:
        def zeros(*shape: int, kind: Any = torch.float64) -> Any:
            return torch.zeros(shape, dtype=kind, device=device)

        return cls(
            used=zeros(n_places, n_parameters, kind=torch.bool),
            coefs=zeros(n_places, n_parameters),
            step=zeros(n_places, n_parameters),
            factor=zeros(n_places, n_parameters, n_parameters),
            slope=zeros(n_places),
            norm=zeros(n_places),
            curved=zeros(n_places, kind=torch.bool),
            sampled=zeros(n_places, kind=torch.bool),
            fresh=zeros(n_places, kind=torch.bool),
            passes=zeros(n_places, kind=torch.int64),
        )

    def begin(self, places: Any, used: Any, coefs: Any, slope: Any) -> None:
        """Let models begin in some places; their starts count as a first step from zero."""
        self.used[places] = used
        self.coefs[places] = coefs
        self.step[places] = coefs
        self.slope[places] = slope
        self.norm[places] = 0.0
        self.curved[places] = True
        self.sampled[places] = False
        self.passes[places] = 0


class TorchFitter:
    """Fits batches of logistic regressions on the training rows of one split, on a device.

    Parameters
    ----------
    table : TrainTable
    sample : TrainTable or None
        Some of the rows. Models that are far from their optima take its Hessians; if it is a small
        part of the rows, they start at its optima.
    penalty : float
        λ, the weight of half the squared coefficients of all classes. Intercepts are not
        penalised.
    """

    def __init__(
        self, table: TrainTable, sample: TrainTable | None = None, penalty: float = 1.0
    ) -> None:
        self._table, self._sample, self._n_classes = table, sample, table.n_classes
        self._n_free = self._n_classes - 1
        self.n_outputs = n_outputs_of(self._n_classes)
        self._n_parameters = table.n_columns * self._n_free
        n_rows = table.n_rows
        self._tolerance = tolerance_of(n_rows)
        self._starter: TorchFitter | None = None
        if sample is not None and sample.n_rows * _QUICK <= n_rows:
            self._starter = TorchFitter(sample, None, penalty * sample.n_rows / n_rows)
            self._starter._tolerance = _START * sample.n_rows
        there = {"dtype": torch.float64, "device": table.device}
        self._basis = torch.as_tensor(orthonormal_basis(self._n_classes), **there)
        self._mixing = torch.as_tensor(_square_mixing(self._n_classes), **there)
        self._penalties = torch.full((self._n_parameters,), penalty, **there)
        self._penalties[: self._n_free] = 0.0
        max_places = _BATCH_BYTES // (8 * self._n_parameters**2)
        self._n_places = int(np.clip(max_places, 8, max(8, _MODELS // self.n_outputs)))
        self._part = max(1, min(_PART // table.n_pairs, self._n_places // 2))
        self._places = _Places.empty(self._n_places, self._n_parameters, table.device)
        every = torch.ones((1, self._n_parameters), dtype=torch.bool, device=table.device)
        self._at_zero = self._expand(torch.zeros((1, self._n_parameters), **there))
        self._at_full = self._at_zero  # needed to fit the full model, then replaced by it
        self._at_full = self._expand(self._fit(every))

    def _expand(self, coefs: Any) -> tuple[Any, Any]:
        """Expand the loss around a full model: its gradient at zero and Hessian, unpenalised."""
        padded = torch.zeros_like(self._places.coefs[: self._part])
        padded[:1] = coefs
        gradient = self._along(self._table.sums(self._weights(padded)[None], 0)[0][0])[0]
        hessian = self._turned(self._table.exact_hessian(self._weights(coefs)[0])[None])[0]
        return gradient - hessian @ coefs[0], hessian

    def fit(self, subsets: BoolArray, report: Report | None = None) -> FloatArray:
        """Fit one model per line of `subsets`, (n_models, n_inputs); return weights of all inputs.

        They have shape (n_models, n_outputs, n_inputs + 1), 0 for inputs that a model does not
        read. ``report(done, total)`` is called while models are fitted.
        """
        with_ones = np.insert(subsets, 0, True, axis=1)  # the intercept is always read
        every = np.repeat(with_ones, self._n_free, axis=1)
        fitted = []
        for start in range(0, len(every), _QUEUE):
            part = torch.as_tensor(every[start : start + _QUEUE]).to(self._table.device)
            fitted.append(self._weights(self._fit(part)).cpu().numpy())
            if report:
                report(min(start + _QUEUE, len(every)), len(every))
        if not fitted:
            return np.zeros((0, self.n_outputs, self._table.n_columns))
        weights: FloatArray = np.concatenate(fitted)
        check_finite(weights)
        return weights

    def _fit(self, used: Any) -> Any:
        """Fit models that have these parameters; return their coefficients."""
        coefs, slope = self._starts(used)
        places, ended_coefs = self._places, torch.zeros_like(coefs)
        who = np.full(self._n_places, -1)
        next_one, n_left = 0, len(used)
        max_passes = MOST_PASSES * (1 + len(used) // self._n_places)
        for _ in range(max_passes):
            free = np.flatnonzero(who < 0)[: len(used) - next_one]
            if len(free):
                new = torch.arange(next_one, next_one + len(free), device=self._table.device)
                there = torch.as_tensor(free, device=self._table.device)
                places.begin(there, used[new], coefs[new], slope[new])
                who[free] = np.arange(next_one, next_one + len(free))
                next_one += len(free)
            done, late = self._advance(who >= 0)
            ended = np.flatnonzero((done | late) & (who >= 0))
            if len(ended):
                where = torch.as_tensor(ended, device=self._table.device)
                models = torch.as_tensor(who[ended], device=self._table.device)
                ended_coefs[models] = places.coefs[where]
                places.curved[where] = False
                unconverged = np.flatnonzero(late & ~done & (who >= 0))
                if len(unconverged):
                    gradient = places.norm[unconverged].max()
                    warn_unconverged(len(unconverged), self._n_places, float(gradient))
                who[ended] = -1
                n_left -= len(ended)
            if not n_left:
                break
        return ended_coefs

    def _starts(self, used: Any) -> tuple[Any, Any]:
        """Start each model at the optimum of a sample, if that is no worse than at zero.

        Without a sample, start where a quadratic of the full model is least; see `start_models`.
        """
        sampled = None if self._starter is None else self._starter._fit(used)
        coefs = torch.empty(used.shape, dtype=torch.float64, device=used.device)
        slope = torch.empty(len(used), dtype=torch.float64, device=used.device)
        padded = torch.zeros((self._n_places, used.shape[1]), dtype=torch.bool, device=used.device)
        (gradient_0, hessian_0), (gradient, hessian) = self._at_zero, self._at_full
        for start in range(0, len(used), self._n_places):
            part = slice(start, start + self._n_places)
            n = len(used[part])
            padded[:n], padded[n:] = used[part], False
            near = self._solved(padded, gradient, hessian)
            if sampled is not None:
                near[:n] = sampled[part]
            first = (near * gradient_0).sum(dim=1)
            bend = (near * near * self._penalties).sum(dim=1)
            bend += 0.5 * self._n_classes * _quadratic(near, hessian_0)
            safe = self._solved(padded, gradient_0, hessian_0)
            is_bold = first + 0.25 * bend >= 0.0
            chosen = torch.where(is_bold[:, None], safe, near)
            first = torch.where(is_bold, (safe * gradient_0).sum(dim=1), first)
            coefs[part], slope[part] = chosen[:n], first[:n]
        return coefs, slope

    def _solved(self, used: Any, gradient: Any, hessian: Any) -> Any:
        """Minima of a quadratic of the full model, cut down to the parameters of each model."""
        factor = factorise(hessian.expand(len(used), *hessian.shape), self._penalties, used)
        return solve(factor, torch.where(used, gradient, 0.0))

    def _advance(self, live: BoolArray) -> tuple[BoolArray, BoolArray]:
        """Take one guarded Newton step with each model; see `advance_models`.

        Returns which models have converged, and which have had all their passes.
        """
        places = self._places
        gradient = self._refresh(live)
        gradient = torch.where(places.used, gradient + self._penalties * places.coefs, 0.0)
        largest = gradient.abs().amax(dim=1)
        along = (gradient * places.step).sum(dim=1)
        places.passes += 1
        back = (along > -0.5 * places.slope) & (largest > self._tolerance)
        keep = (places.slope / (places.slope - along)).clamp(min=0.1)
        step = solve(places.factor, gradient)
        slope = (gradient * step).sum(dim=1)
        if self._n_free > 1:
            share = self._share(step)
            step, slope = step * share[:, None], slope * share
        moved = torch.where(back[:, None], (keep - 1.0)[:, None] * places.step, step)
        places.coefs += moved
        places.step = torch.where(back[:, None], keep[:, None] * places.step, step)
        places.slope = torch.where(back, keep * places.slope, slope)
        shrink = largest / places.norm
        soon = (places.norm > 0.0) & (largest * shrink <= 0.1 * self._tolerance)
        near = (places.norm > 0.0) & (step.abs().sum(dim=1) * shrink <= _NEAR)
        done = ~back & ((largest <= self._tolerance) | soon | near)
        # What the last step left says nothing about a factor that is new.
        stalled = ~((shrink <= _STALLED) | places.fresh) | places.sampled
        places.curved = torch.where(back, places.curved, stalled & ~done)
        places.norm = torch.where(back, places.norm, largest)
        flags = torch.stack([done, places.passes >= MOST_PASSES]).cpu().numpy()
        return flags[0], flags[1]

    def _refresh(self, live: BoolArray) -> Any:
        """Return the gradient of each model, and refresh the factors of those that need it."""
        places = self._places
        is_far = places.step.abs().amax(dim=1) >= _ROUGH
        is_late = places.passes >= _EXACT_AFTER
        curved, far, late = torch.stack([places.curved, is_far, is_late]).cpu().numpy()
        curved = curved & live
        far = far & ~late if self._sample is not None else np.zeros_like(far)
        weights = self._weights(places.coefs)
        places.fresh[:] = False
        gradient = self._add_up(weights, live, curved & ~late & ~far)
        if self._sample is not None:
            more = self._table.n_rows / self._sample.n_rows
            for part in self._parts(np.flatnonzero(curved & far)):
                total = self._sample.hessians(weights[part]) * more
                self._set_factor(part, total, self._part, sampled=True)
        for m in np.flatnonzero(curved & late):
            total = self._table.exact_hessian(weights[m])[None]
            self._set_factor(torch.as_tensor([m], device=weights.device), total, 1, sampled=False)
        return self._along(gradient)

    def _add_up(self, weights: Any, live: BoolArray, curved: BoolArray) -> Any:
        """Return the gradients of live models, and set the factors of those that are curved."""
        gradient = torch.zeros_like(weights)
        first, others = np.flatnonzero(curved), np.flatnonzero(live & ~curved)
        parts = self._parts(np.concatenate([first, others]))
        n_curved = -(-len(first) // self._part)
        sums, hessians = self._table.sums(weights[parts], n_curved)
        gradient[parts.reshape(-1)] = sums.reshape(-1, *sums.shape[2:])
        for i, (part, total) in enumerate(zip(parts, hessians, strict=False)):
            self._set_factor(part, total, len(first) - i * self._part, sampled=False)
        return gradient

    def _parts(self, numbers: IntArray) -> Any:
        """Numbers of models in parts of equal size; the first ones again fill up the last."""
        every = np.resize(numbers, (-(-len(numbers) // self._part), self._part))
        return torch.as_tensor(every).to(self._table.device)

    def _set_factor(self, part: Any, total: Any, n: int, *, sampled: bool) -> None:
        """Set the factors of the first `n` models of a part; all are computed, for their shape."""
        places, first = self._places, part[:n]
        factors = factorise(self._turned(total), self._penalties, places.used[part])
        places.factor[first] = factors[:n]
        places.sampled[first] = sampled
        places.fresh[first] = not sampled

    def _share(self, step: Any) -> Any:
        """Share of a step that is sure to help, where it reaches far; see `_shorten`."""
        hessian_0 = self._at_zero[1]
        reach = torch.sqrt(_quadratic(step, hessian_0) / hessian_0[0, 0])
        shorter = _LONG_REACH * (1.0 + torch.log(reach / _LONG_REACH)) / reach
        return torch.where(reach > _LONG_REACH, shorter, 1.0)

    def _weights(self, coefs: Any) -> Any:
        """Weights by class, (n_models, n_outputs, n_columns), from those along directions."""
        by_column = coefs.reshape(len(coefs), -1, self._n_free)
        if self._n_classes == 2:
            return by_column.transpose(1, 2).contiguous()
        return (by_column[:, None] * self._basis[:, None, :]).sum(dim=3)

    def _along(self, gradient: Any) -> Any:
        """Gradient along directions, (n_models, n_parameters), from that by class."""
        if self._n_classes > 2:
            gradient = (gradient[:, :, None] * self._basis[:, :, None]).sum(dim=1)
        return gradient.transpose(1, 2).reshape(len(gradient), -1)

    def _turned(self, total: Any) -> Any:
        """Hessians of parameters, from sums by pairs of classes."""
        if self._n_classes == 2:
            return total[:, 0]
        n, free, (n_models, n_pairs, size) = self._n_parameters, self._n_free, total.shape[:3]
        flat = total.reshape(n_models, n_pairs, -1).transpose(1, 2) @ self._mixing
        turned = flat.reshape(n_models, size, size, free, free).permute(0, 1, 3, 2, 4)
        return turned.reshape(n_models, n, n)


def _quadratic(steps: Any, matrix: Any) -> Any:
    """Quadratic form of each step."""
    return ((steps @ matrix) * steps).sum(dim=1)


def _square_mixing(n_classes: int) -> FloatArray:
    """Share of each pair of classes in each pair of directions, (n_pairs, n_directions²)."""
    a, b = np.tril_indices(n_classes - 1)
    mixing = mixing_of_pairs(n_classes)
    square = np.zeros((len(mixing), n_classes - 1, n_classes - 1))
    square[:, a, b] = square[:, b, a] = mixing
    return square.reshape(len(mixing), -1)
