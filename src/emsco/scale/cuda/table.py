"""Training rows on a device, and the sums over them that a batch of fits needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from emsco._base.typing import FloatArray, IntArray
from emsco._base.workers import slices
from emsco.data.single_rows import SingleRows
from emsco.models.scaling import Scaling
from emsco.models.shard import SplitData
from emsco.scale.cuda.library import residuals, torch, wide_product

_ROWS = 2**16  # rows at a time
_PAIR_BYTES = 2**30  # of products of columns at a time
_KEPT_SHARE = 0.3  # of the device's memory, for products of columns that are kept
_LARGEST = 128.0  # of a rounded column: products of two are far from the largest float16
_LIFT = 2.0**17  # of the weights of Hessians, which are at most 1/4: uses the range of float16
_AT_ONCE = 2**20  # rows sent to the device at a time
_SPARSE = 4  # if fewer than one row in so many is wanted, those are copied before they are sent
_LINES = 4  # columns come in fours: other matrix products take half as long again


class TrainTable:
    """Training rows of one split on a device, in blocks of equal size.

    Gradients are sums in float64. Hessians are sums of products of two columns, for all models
    that need one by one matrix product: columns rounded to float16, whose products are exactly
    two float16 numbers each, so that no Hessian is less than positive; the weights of rows are
    rounded too. Every sum has the same shape whatever models it is for.

    Parameters
    ----------
    data : SplitData
        With weights for fitting, as `SplitData.with_fit_weights` makes them.
    scaling : Scaling
    device : torch.device

    Attributes
    ----------
    n_columns : int
        Inputs, and one for the intercept.
    n_rows : float
        Training rows, or their total weight.
    """

    def __init__(self, data: SplitData, scaling: Scaling, device: Any) -> None:
        train, weights = data.train, data.weights
        self.device, self.n_classes = device, data.n_classes
        self.n_columns = data.X.shape[1] + 1
        self.n_rows = data.train_weight
        rows, columns = np.tril_indices(self.n_columns)
        self._pairs = [torch.as_tensor(one, device=device) for one in (rows, columns)]
        max_rows = max(1024, _PAIR_BYTES // (4 * len(rows)))
        size = min(_ROWS, 1 << max_rows.bit_length() - 1)
        self._size = size if len(train) > size else max(64, -(-len(train) // 64) * 64)
        n_padded = max(1, -(-len(train) // self._size)) * self._size
        self._columns = upload_columns(data.X, train, scaling, device, n_padded)
        self._labels = self._padded(data.labels[train].astype(np.int64), n_padded)
        self._weights = None if weights is None else self._padded(weights[train], n_padded)
        self._heaviest = 1.0 if weights is None else float(weights[train].max(initial=1e-300))
        self._targets = self._labels.double()
        self._classes = torch.arange(self.n_classes, device=device)[:, None]
        self._class_pairs = torch.tril_indices(self.n_classes, self.n_classes, -1, device=device)
        largest = self._columns.abs().amax(dim=1).clamp_(min=1e-300)
        self._scale = torch.exp2(torch.floor(torch.log2(_LARGEST / largest))).clamp_(max=2.0**60)
        scales = self._scale[self._pairs[0]] * self._scale[self._pairs[1]]
        self._unscale = self._heaviest / (_LIFT * scales)
        self._kept: Any = None
        self._kept = self._keep_products(n_padded)

    def _padded(self, values: Any, n_padded: int) -> Any:
        padded = torch.zeros(n_padded, dtype=torch.as_tensor(values[:0]).dtype, device=self.device)
        padded[: len(values)] = torch.as_tensor(values).to(self.device)
        return padded

    def _keep_products(self, n_rows: int) -> Any:
        """Products of all columns, if there is room for them."""
        if self.device.type != "cuda":
            return None
        shape = (2 * len(self._pairs[0]), n_rows)
        if 2 * shape[0] * n_rows > _KEPT_SHARE * torch.cuda.mem_get_info(self.device)[0]:
            return None
        kept = torch.empty(shape, dtype=torch.float16, device=self.device)
        for block in self._blocks:
            kept[:, block] = self._products_of(block)
        return kept

    @property
    def _blocks(self) -> list[slice]:
        n_rows = self._columns.shape[1]
        return [slice(start, start + self._size) for start in range(0, n_rows, self._size)]

    def _products_of(self, block: slice) -> Any:
        """Products of two columns, as the sum of two float16 numbers: (2 · n_pairs, n_rows)."""
        if self._kept is not None:
            return self._kept[:, block]
        columns = (self._columns[:, block] * self._scale[:, None]).half().float()
        product = columns[self._pairs[0]].mul_(columns[self._pairs[1]])
        high = product.half()
        return torch.cat([high, product.sub_(high).half()])

    @property
    def n_pairs(self) -> int:
        """Pairs of classes that a Hessian is a sum over."""
        return self.n_classes * (self.n_classes - 1) // 2

    def sums(self, weights: Any, n_curved: int) -> tuple[Any, list[Any]]:
        """Σ gradient of all models, and Σ Hessian by pairs of classes of those in the first parts.

        Parameters
        ----------
        weights : tensor of shape (n_parts, n_models, n_outputs, n_columns)
        n_curved : int
            Number of the first parts whose models get a Hessian.

        Returns
        -------
        gradient : tensor of shape (n_parts, n_models, n_outputs, n_columns)
        hessians : list of tensor of shape (n_models, n_pairs, n_columns, n_columns)
        """
        flats = [self._flat(part) for part in weights]
        gradients = [torch.zeros_like(flat) for flat in flats]
        totals = [self._no_sums(weights.shape[1]) for _ in range(n_curved)]
        for block in self._blocks:
            products = self._products_of(block) if n_curved else None
            for i, (flat, gradient) in enumerate(zip(flats, gradients, strict=True)):
                residual = self._residuals(flat, block)
                if i < n_curved:
                    totals[i] += wide_product(products, self._curvatures(residual, block).T)
                residual = self._as_gradients(residual, block)
                gradient.addmm_(residual, self._columns[:, block].T)
        gradient = torch.stack(gradients)[:, :, : self.n_columns].reshape(weights.shape)
        return gradient, [self._squared(total) for total in totals]

    def hessians(self, weights: Any) -> Any:
        """Σ Hessian of models, by pairs of classes; see `sums`."""
        flat, total = self._flat(weights), self._no_sums(len(weights))
        for block in self._blocks:
            curvature = self._curvatures(self._residuals(flat, block), block)
            total += wide_product(self._products_of(block), curvature.T)
        return self._squared(total)

    def exact_hessian(self, weights: Any) -> Any:
        """Σ Hessian of one model in float64, by pairs of classes: (n_pairs, n_columns, n_columns).

        `weights` has shape (n_outputs, n_columns).
        """
        shape = (self.n_pairs, self.n_columns, self.n_columns)
        total = torch.zeros(shape, dtype=torch.float64, device=self.device)
        flat = self._flat(weights[None])
        for block in self._blocks:
            curvature = self._bends(self._residuals(flat, block))
            if self._weights is not None:
                curvature = curvature * self._weights[block]
            columns = self._columns[: self.n_columns, block]
            for pair, line in enumerate(curvature):
                total[pair].addmm_(columns * line, columns.T)
        return total

    def _flat(self, weights: Any) -> Any:
        """Weights of all logits, with as many columns as the table: (n_logits, n_lines)."""
        extra = self._columns.shape[0] - self.n_columns
        return torch.nn.functional.pad(weights.reshape(-1, self.n_columns), (0, extra))

    def _no_sums(self, n_models: int) -> Any:
        shape = (2 * len(self._pairs[0]), n_models * self.n_pairs)
        return torch.zeros(shape, dtype=torch.float64, device=self.device)

    def _residuals(self, flat: Any, block: slice) -> Any:
        """What gradients are made of: residuals of two classes, else probabilities of all."""
        logits = flat @ self._columns[:, block]
        if self.n_classes == 2:
            return residuals(logits, self._targets[block])
        return torch.softmax(logits.reshape(-1, self.n_classes, self._size), dim=1)

    def _bends(self, residual: Any) -> Any:
        """Curvature of the loss of each row, by pairs of classes: (n_models · n_pairs, n_rows)."""
        if self.n_classes == 2:
            size = residual.abs()
            return torch.addcmul(size, size, size, value=-1)
        k, other = self._class_pairs
        return (residual[:, k] * residual[:, other]).reshape(-1, self._size)

    def _curvatures(self, residual: Any, block: slice) -> Any:
        """Weights of rows in Hessians, as float16: (n_models · n_pairs, n_rows)."""
        bends = self._bends(residual.float())
        if self._weights is None:
            return bends.mul_(_LIFT).half()
        return bends.mul_((self._weights[block] * (_LIFT / self._heaviest)).float()).half()

    def _as_gradients(self, residual: Any, block: slice) -> Any:
        if self.n_classes > 2:
            is_own = self._labels[block] == self._classes
            residual = residual.sub_(is_own.double()).reshape(-1, self._size)
        return residual if self._weights is None else residual.mul_(self._weights[block])

    def _squared(self, total: Any) -> Any:
        """Sums over pairs of columns as symmetric matrices."""
        n_pairs, (rows, columns) = len(self._pairs[0]), self._pairs
        both = ((total[:n_pairs] + total[n_pairs:]) * self._unscale[:, None]).T
        shape = (len(both), self.n_columns, self.n_columns)
        square = torch.zeros(shape, dtype=torch.float64, device=self.device)
        square[:, rows, columns] = both
        square[:, columns, rows] = both
        return square.reshape(-1, self.n_pairs, self.n_columns, self.n_columns)


def upload_columns(
    X: FloatArray, rows: IntArray, scaling: Scaling, device: Any, n_padded: int
) -> Any:
    """Standardise some rows on a device: a line of ones, a line per input, lines of padding.

    Missing values become exactly 0, and so is all padding, that of the line of ones included.
    """
    n_lines = -(-(X.shape[1] + 1) // _LINES) * _LINES
    lines = torch.zeros((n_lines, n_padded), dtype=torch.float64, device=device)
    lines[0, : len(rows)] = 1.0
    mean = torch.as_tensor(np.array(scaling.mean), device=device)
    inverse = torch.as_tensor(scaling.inverse, device=device)
    numbers, order = torch.sort(torch.tensor(rows, device=device), stable=True)
    for part in slices(len(rows), _AT_ONCE):
        rows_there = _uploaded(X, numbers[part]).double()
        rows_there = ((rows_there - mean) * inverse).nan_to_num_(nan=0.0)
        lines[1 : X.shape[1] + 1].index_copy_(1, order[part], rows_there.T)
    return lines


def _uploaded(X: Any, rows: Any) -> Any:
    """Some rows, given their sorted numbers as a tensor, on its device.

    Where they are close, all rows between are sent as well.
    """
    X = X.held if isinstance(X, SingleRows) else X  # half as much to send
    first, end = int(rows[0]), int(rows[-1]) + 1
    if end - first > _SPARSE * len(rows):
        return torch.as_tensor(X[rows.cpu().numpy()]).to(rows.device)
    between = X[first:end]
    between = between if between.flags.writeable else between.copy()  # PyTorch warns of others
    return torch.as_tensor(between).to(rows.device)[rows - first]
