"""EMSCOClassifier, the scikit-learn estimator of the library."""

from __future__ import annotations

import os
from dataclasses import replace
from time import perf_counter
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from emsco._base.checks import check_choice
from emsco._base.typing import AnyArray, FloatArray
from emsco._base.warn import warn_once
from emsco.cascade import Cascade, Decisions, Evaluation
from emsco.costs import CostsLike, FeatureCosts, GivenPrices
from emsco.data.encoding import GAPS
from emsco.data.keys import column_of
from emsco.data.row_prints import RowPrints
from emsco.data.tabular import TableClassifier
from emsco.data.training import TrainingData
from emsco.designs.constraints import Constraints
from emsco.designs.thresholds import MinConfidence
from emsco.errors import ParameterError
from emsco.fitting import PAPER, FitSettings, fit_rows
from emsco.front import ParetoPoint
from emsco.front.certificate import Certificate
from emsco.front.doubts import doubts_about
from emsco.front.history import Generation
from emsco.front.rules import given_error_costs, rule_to_certify
from emsco.search.settings import PaperSearch, with_paper_search
from emsco.stats.reliability import Reliability, RiskCoverage

__all__ = ["EMSCOClassifier", "Generation"]


class EMSCOClassifier(TableClassifier):
    """Classifier that buys features stage by stage, stops when sure, and may decline to answer.

    A *design* assigns each feature to a stage. Every row buys the features of the first stage. It
    leaves with a label if the model of that stage is confident enough; otherwise it buys the next
    stage. A row that no stage accepts is rejected.

    `fit` searches for the designs with the best trade-offs between coverage, accuracy and cost.
    They make up `front_`. One of them is deployed as `cascade_`; `choose` deploys another.

    Parameters
    ----------
    costs : mapping, array-like, FeatureCosts or None
        Cost of each feature, by name or in column order. None: every feature costs 1. Use
        `FeatureCosts` for groups of columns that are bought together for one cost.
    min_confidence : "auto", float or dict
        A row leaves at the first stage whose largest class probability is at least this. A dict
        holds a threshold for each label; the one of the likeliest class applies. "auto" gives
        every stage a threshold of its own, which the search chooses, from a little above the
        share of the class to nearly 1. The last stage labels everyone, or rejects the rows that it
        is least sure of.
    always_answer : bool
        Whether every design labels every row. Then coverage is 1, and designs differ in accuracy
        and cost alone. By default the front also has designs that reject rows, and a design that
        answers everyone is deployed.
    reject_below : float, dict or None
        Confidence below which the last stage rejects a row. None: as `min_confidence` says.
    prefer : {"economical", "one_standard_error", "accurate", "balanced", "fittest", "knee"} or dict
        The point of the front to deploy. The names are methods of `ParetoFront`. "economical" is
        the cheapest design that answers everyone as well as buying everything does, in accuracy
        and in the share found of each class, beyond noise. With a number or a dict as
        `min_confidence` or `reject_below`, it is compared with everything at that confidence.
        "one_standard_error" is the simplest of those nearly as good as the best; "fittest" is the
        paper's choice. A dict holds limits for `ParetoFront.select`, such as
        ``{"max_cost": 300, "min_recall": {"ill": 0.9}}``, or the costs of an error and of a
        rejection, ``{"error_cost": 500, "reject_cost": 40}``, or both. With costs of errors, the
        design with the lowest expected total within the limits is deployed.
    error_cost : float, mapping or array-like, optional
        Cost of a wrong label in the unit of the feature costs: one number, a number for each true
        label, or a matrix with a line per true label and a column per label given. Then the search
        is for the lowest mean total of features, errors and rejections: errors count by what they
        cost, stages answer with the label of least expected cost and go on where an error would
        cost too much, and the design with the lowest expected total is deployed. It decides what
        `min_confidence`, `reject_below`, `metric` and `class_weight` decide
        otherwise, and nothing is proven by exact search.
    reject_cost : float or mapping, optional
        Cost of a rejection, or one for each true label, beside `error_cost`. None: nobody is
        rejected.
    metric : {"accuracy", "balanced_accuracy"}
        The objective "accuracy". "accuracy" is the share of labels that are correct.
        "balanced_accuracy" is its mean over the classes; a class without a labelled row counts as
        0. Exact search does not support it.
    max_stages : int or None
        Most stages of a design. None: half the number of features, but at least 1 and at most 10,
        as in the paper. Features that must stay together count as one.
    branches : "auto" or int
        Most ways that rows may go after a stage, from 1 to 4. With "auto", up to 4: chains are
        searched first, and a branch is kept only if its designs, chosen on half of the scored
        rows, beat them on the other half by more than a standard error. 1: all rows go the same
        way. "paper" and "exact" search chains alone, and refuse a number above 1.
    estimator : {"auto", "logistic", "spline", "boosting"}, classifier or None
        The stage model. "logistic", or None, is L2 logistic regression. "spline" adds curves:
        natural cubic splines of the numeric columns. "boosting" is gradient boosting, which adds
        interactions. "auto" takes the one with the lowest log loss out of fold, or a simpler or
        much quicker one within a standard error. A scikit-learn classifier or pipeline with
        `predict_proba` is fitted once for each subset that the search needs, which takes several
        hundred times as long; see `search_with`.
    search_with : {"logistic", "spline", "boosting"} or None
        Stage model to search with. The designs near the front then get models of `estimator` and
        are scored again; only they are shown. None: `estimator` itself, except that "boosting"
        searches with one model that answers for every subset.
    class_weight : dict, "balanced" or None
        Weight of each class when stage models are fitted, not when designs are scored.
    gaps : {"refuse", "impute", "skip"}
        What to do with missing values. "refuse" raises an error. "impute" fills in the mean of
        the training rows and adds an indicator. "skip" fills in the mean, and a stage never
        accepts a row if a feature that it buys is missing.
    allow_exclusion : bool
        Whether designs may leave features out. Features that cost nothing are always bought at
        the first stage, unless the search is the paper's.
    constraints : dict, Constraints or None
        Rules for every design. ``first`` lists features of the first stage. ``together`` holds
        lists of features that belong to the same stage. ``max_mean_cost``, ``max_worst_cost``,
        ``max_mean_delay`` and ``max_worst_delay`` limit what a row pays and how long it waits.
        ``buy_all`` is the same as ``allow_exclusion=False``.
    delays : mapping, array-like or None
        Waiting time for the value of each feature, by name (0 for others) or in feature order.
        None: those in `costs` if that is a `FeatureCosts`, otherwise 0.
    evaluation_cost : float or None
        Cost of running a stage, on top of its features. None: the one in `costs` if that is a
        `FeatureCosts`, otherwise 0.
    search : {"auto", "exact", "evolution", "paper"} or PaperSearch
        How to search. "exact" finds and proves the whole front. "evolution" approximates it by
        scoring population_size designs in each of `generations` generations. "paper" is the
        algorithm of Hamilton & Fulp (2022); `PaperSearch` holds its settings. "auto" is "exact"
        if that takes seconds, otherwise "evolution".
    population_size, generations : int
        Designs per generation, and generations; the paper's |G| and max_iter.
    patience : int or None
        Generations without a change of the front ("paper": of the fittest design) after which
        the search stops; the paper's g. None: "paper" runs all generations, and "evolution" stops
        once the front hardly grows.
    cv : "auto", float, int, splitter or list of splits
        Rows that score designs: a fraction of the rows (stratified), a number of folds, or any
        scikit-learn splitter. Use `PredefinedSplit` for a split of your own. "auto" makes 5
        folds, up to 4 times over if the table is small and models are quick to fit. From 20,000
        rows on it holds out a third. With `groups`, every group stays in one fold.
    refit : {"average", "all", "first"}
        The stage models to deploy. "average" takes the mean of the class probabilities of the
        models of all splits. "all" fits them again on all rows. "first" takes the models of the
        first split. True means "all", and False means "first".
    screen_rows : "auto", int or None
        Number of rows to search on, a sample. The designs near the front then get models of all
        rows and are scored on them. "auto": 20,000 of 50,000 rows or more, or fewer if
        `time_limit` is short. None: all rows.
    time_limit : float or None
        Seconds that the whole fit may take. The search ends after half or three quarters of them,
        between two batches of fits, and keeps the best designs so far. An exact search that stops
        early reports that its front is not proven.
    memory_limit : int or str
        Most memory for stage models and their bits, such as "1GiB". An exact search may use three
        times as much. The data and a few hundred bytes per scored design come on top.
    n_jobs : int or None
        Threads, or processes for boosted trees and classifiers of your own, as in joblib: None is
        1 and -1 is all. The result does not depend on it.
    device : {"cpu"}
        Where stage models are fitted and scored.
    checkpoint : str, path or None
        File that keeps what boosted trees and classifiers of your own say about scored rows,
        written every second. A fit that is started again with it fits only what is missing, and
        ends with the same front. Fits with other thresholds, costs or searches may use it, too.
        Logistic models are quick and are fitted again. If random_state is no number, the one in
        the file is used. A time_limit starts again. Delete the file when you are done.
    random_state : int, RandomState or None
        Seed of the split, the search, boosted trees and random estimators. Pass a number to
        repeat a fit.
    verbose : int
        1 shows class shares, the stage models chosen and progress bars.

    Attributes
    ----------
    front_ : ParetoFront
        The designs that no other design beats, the cheapest first, with their scored figures. The
        paper's search lists the fittest first.
    point_ : ParetoPoint
        The deployed point of the front.
    design_ : Design
        The deployed design.
    cascade_ : Cascade
        The deployed design with its stage models. Save it with ``cascade_.save(path)``.
    history_ : list of Generation
        The state of the search after each generation.
    stop_reason_ : StopReason
        Why the search ended. `str` gives a sentence; test `cause` in code.
    data_issues_ : tuple of DataIssue
        Columns and classes that look wrong, most serious first. `fit` warns of the first ten; the
        paper's search checks none. `str` gives a sentence; test `kind` in code.
    model_choice_ : ModelChoice or None
        The stage models that `estimator="auto"` chose, and their losses; `str` gives a line. None
        if none were compared: `estimator` named them, or all but one take too long to try.
    refinement_ : Refinement or None
        How designs got their final models, if the search used others; `str` gives a line.
    n_splits_ : int
        Number of splits into training rows and scored rows.
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had any.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> clf = EMSCOClassifier(search="evolution", generations=20, cv=1 / 3, random_state=0)
    >>> print(clf.fit(X[:400], y[:400]).stop_reason_)
    all 20 generations have run
    >>> decisions = clf.decide(X[400:])
    >>> bool(decisions.accepted.mean() > 0.8 and decisions.cost.mean() < 5)
    True

    Deploy a more accurate design of the same front:

    >>> bool(clf.choose({"min_accuracy": 0.99}).point_.accuracy >= 0.99)
    True
    """

    def __init__(
        self,
        costs: CostsLike = None,
        *,
        min_confidence: MinConfidence | str = "auto",
        always_answer: bool = False,
        reject_below: MinConfidence | None = None,
        prefer: str | dict[str, Any] = "economical",
        error_cost: Any = None,
        reject_cost: Any = None,
        metric: str = "accuracy",
        max_stages: int | None = 4,
        branches: int | str = "auto",
        estimator: Any = "auto",
        search_with: str | None = None,
        class_weight: Any = None,
        gaps: str = "refuse",
        allow_exclusion: bool = True,
        constraints: dict[str, Any] | Constraints | None = None,
        delays: Any = None,
        evaluation_cost: float | None = None,
        search: str | PaperSearch = "auto",
        population_size: int = 300,
        generations: int = 150,
        patience: int | None = None,
        cv: Any = "auto",
        refit: str | bool = "average",
        screen_rows: str | int | None = "auto",
        time_limit: float | None = None,
        memory_limit: int | str = "1GiB",
        n_jobs: int | None = None,
        device: str = "cpu",
        checkpoint: str | os.PathLike[str] | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.costs = costs
        self.min_confidence = min_confidence
        self.always_answer = always_answer
        self.reject_below = reject_below
        self.prefer = prefer
        self.error_cost = error_cost
        self.reject_cost = reject_cost
        self.metric = metric
        self.max_stages = max_stages
        self.branches = branches
        self.estimator = estimator
        self.search_with = search_with
        self.class_weight = class_weight
        self.gaps = gaps
        self.allow_exclusion = allow_exclusion
        self.constraints = constraints
        self.delays = delays
        self.evaluation_cost = evaluation_cost
        self.search = search
        self.population_size = population_size
        self.generations = generations
        self.patience = patience
        self.cv = cv
        self.refit = refit
        self.screen_rows = screen_rows
        self.time_limit = time_limit
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.device = device
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def paper(cls, **settings: Any) -> Self:
        """Return the classifier as Hamilton & Fulp (2022) describe it.

        A third of the rows is held out, every answer needs a confidence of 0.75, every feature is
        bought in the end, and the fittest design is deployed. `settings` override these or any
        other parameter. Those of `PaperSearch`, such as ``mutation_rate=0.1``, are taken too.
        `search` is a `PaperSearch`, whose settings a grid can vary as ``search__mutation_rate``.

        Examples
        --------
        >>> clf = EMSCOClassifier.paper(generations=20)
        >>> clf.set_params(search__mutation_rate=0.1).search.mutation_rate
        0.1
        """
        return cls(**with_paper_search({**PAPER, **settings}))

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit stage models on some rows, score designs on others, and deploy one.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_columns)
            Numbers, truth values or categories, all in memory. See `gaps` for missing values.
        y : array-like of shape (n_rows,)
            Labels of two or more classes.
        sample_weight : array-like of shape (n_rows,), optional
            Weight of each row, in fitting and in the objectives. A row of weight 3 counts as
            three equal rows.
        groups : array-like of shape (n_rows,), optional
            Group of each row, for "auto" or a `cv` that splits by group.

        Returns
        -------
        self
        """
        started = perf_counter()
        check_choice("gaps", self.gaps, GAPS)
        table, targets = self._check_table(X, y)
        costs = FeatureCosts.resolve(self.costs, self._names, self.evaluation_cost, self.delays)
        data = TrainingData.from_table(table, targets, sample_weight, costs, self.gaps)
        self.classes_ = data.classes
        settings = FitSettings.from_parameters(self.get_params(deep=False), data)
        fitted = fit_rows(data, settings, groups, started)
        for name in ("point_", "design_", "cascade_"):
            self.__dict__.pop(name, None)  # of an earlier fit: they do not belong to the new front
        bought = [
            data.encoding.places(dict.fromkeys(name for buys in design.buys for name in buys))
            for design in (point.design for point in fitted.front)
        ]
        self.front_ = replace(fitted.front, searched=RowPrints.from_rows(data.rows, bought=bought))
        self.history_, self.stop_reason_ = fitted.history, fitted.stop_reason
        self.data_issues_, self.n_splits_ = fitted.data_issues, fitted.n_splits
        self.model_choice_, self.refinement_ = fitted.model_choice, fitted.refinement
        self._prefer = settings.prefer
        # As they were at the fit: parameters may be set anew before the next one.
        given = {"error_cost": self.error_cost, "reject_cost": self.reject_cost}
        self._costs_of_fit = given_error_costs(settings.prefer) or given_error_costs(given)
        return self._deploy(settings.prefer, stacklevel=3)

    def choose(
        self,
        which: ParetoPoint | int | str | dict[str, Any] | None = None,
        *,
        cheapest_label: bool = False,
        **limits: Any,
    ) -> Self:
        """Deploy another point of the front.

        Sets `point_`, `design_` and `cascade_`.

        Parameters
        ----------
        which : ParetoPoint, int, str or dict, optional
            A point of `front_`, its position there, or a rule as in `prefer`.
        cheapest_label : bool
            Whether `cascade_` gives each row the label of least expected cost, by the
            `error_cost` given here or in `prefer`; see `Cascade.with_error_costs`.
        **limits
            Instead of `which`: limits, and costs of an error and of a rejection, as for
            `ParetoFront.select`. ``choose(error_cost=500, reject_cost=40)`` deploys the design
            with the lowest expected total.

        Returns
        -------
        self
        """
        if which is not None and limits:
            name = next(iter(limits))
            raise ParameterError(
                f"{name} must be left out where a point or a rule is given, got {limits[name]!r}."
            )
        if which is None and not limits:
            raise ParameterError("which must be a point, its position or a rule, got None.")
        wanted = limits if which is None else which
        label_costs = None
        if cheapest_label:
            costs = given_error_costs(wanted) or self._costs_of_fit
            if not costs:
                raise ParameterError(
                    "cheapest_label must be False where errors have no cost, got True."
                )
            label_costs = costs.get("error_cost")
        return self._deploy(wanted, stacklevel=3, label_costs=label_costs)

    def decide(self, X: ArrayLike, prices: GivenPrices = None) -> Decisions:
        """Label or reject each row; also gives its confidence, exit stage and cost.

        `prices` has the prices of features that differ from row to row; see `Cascade.decide`, which
        also takes rows that lack some of their features.
        """
        return self._fitted_cascade.decide(self._check_new_rows(X), prices)

    def evaluate(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: Any = None,
        by: Any = None,
        prices: GivenPrices = None,
        error_cost: Any = None,
        reject_cost: Any = None,
    ) -> Evaluation:
        """Measure coverage, accuracy and cost on labelled rows, with 95 % intervals.

        The evaluation also says whether the deployed point keeps its promise: see
        `Evaluation.promise`. Parameters are those of `Cascade.evaluate`; costs of errors and
        rejections are by default those that the point was chosen by, or that the fit was given.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> clf = EMSCOClassifier(estimator="logistic", generations=5, cv=1 / 3, random_state=4)
        >>> evaluation = clf.fit(X[:400], y[:400]).evaluate(X[400:], y[400:])
        >>> print(evaluation.promise.cost.verdict)
        as promised, within chance
        """
        cascade, rows = self._fitted_cascade, self._check_new_rows(X)
        column = {"groups": groups, "by": by}
        for name, given in column.items():
            if isinstance(given, str):
                column[name] = column_of(X, given, name)
        both = {"error_cost": error_cost, "reject_cost": reject_cost}
        costs = given_error_costs(both) or self._error_costs
        evaluation = cascade.evaluate(rows, y, sample_weight, **column, prices=prices, **costs)
        return self.point_.compared_with(evaluation, cascade.label_costs)

    def reliability(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        n_bins: int = 10,
    ) -> tuple[Reliability, ...]:
        """Compare each stage's confidence with its accuracy, on the labelled rows that reach it."""
        rows = self._check_new_rows(X)
        return self._fitted_cascade.reliability(rows, y, sample_weight, n_bins)

    def risk_coverage(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> tuple[RiskCoverage, ...]:
        """Error rate by coverage as the threshold moves: the cascade, then each stage alone."""
        return self._fitted_cascade.risk_coverage(self._check_new_rows(X), y, sample_weight)

    def certify(self, X: Any, y: ArrayLike, **settings: Any) -> Certificate:
        """Test on fresh rows which designs of `front_` keep promises, such as `min_accuracy`.

        The deployed design is tested first if it is likely to pass; otherwise a warning says so.
        Nothing is deployed: ``clf.choose(certificate.deployed)`` does that. The best of the
        certified designs is the deployed one, or else the one that `prefer` chooses.

        Parameters
        ----------
        X, y : array-like
            Labelled rows that had no part in `fit`.
        **settings
            Promises and settings of `ParetoFront.certify`. For `max_total`, costs of errors and
            rejections are by default those that the point was chosen by.
        """
        check_is_fitted(self, "front_")
        rule = rule_to_certify(self._prefer)
        costs = given_error_costs(settings) or self._error_costs
        settings = {"prefer": rule, "deployed": self.point_, **costs, **settings}
        return self.front_.certify(self._check_new_rows(X), y, **settings)

    def predict(self, X: ArrayLike) -> AnyArray:
        """Predict a class for every row, even a rejected one: the best guess of its last stage."""
        cascade = self._fitted_cascade
        return cascade.decide_rows(cascade.encoding.rows(self._check_new_rows(X))).guesses

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Class probabilities of each row at its last stage, shape (n_rows, n_classes)."""
        return self._fitted_cascade.predict_proba(self._check_new_rows(X))

    def __sklearn_tags__(self) -> Any:
        """Declare that missing values are allowed, unless `gaps` is "refuse"."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.gaps != "refuse"
        return tags

    def _deploy(self, which: Any, stacklevel: int, label_costs: Any = None) -> Self:
        """Deploy a point of the front, and warn of what is doubtful about it."""
        check_is_fitted(self, "front_")
        cheapest_label = label_costs is not None
        if cheapest_label and isinstance(which, dict):
            point = self.front_.select(**which, cheapest_label=True)
        else:
            point = self.front_.find(which)
        self.front_ = replace(self.front_, deployed=self.front_.position(point))
        self.point_, self.design_ = point, point.design
        self._error_costs = given_error_costs(which) or self._costs_of_fit
        self.cascade_ = self.front_.cascade(point)
        if cheapest_label or self.front_.money is None:
            self.cascade_ = self.cascade_.with_error_costs(label_costs)
        doubts = doubts_about(
            self.front_,
            point,
            weighted=self.class_weight is not None,
            costs=self.front_.error_costs(**{"error_cost": None, **self._error_costs}),
            cheapest_label=cheapest_label,
        )
        warn_once(doubts, stacklevel)
        return self

    @property
    def _fitted_cascade(self) -> Cascade:
        check_is_fitted(self, "cascade_")
        return self.cascade_
