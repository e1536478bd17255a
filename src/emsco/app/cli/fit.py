"""`emsco fit`: search for cascades, and keep the results in a folder."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from emsco.app.cli.commands import names_of
from emsco.app.cli.endings import INTERRUPTED, interruptible, say
from emsco.app.cli.options import (
    AsJSON,
    ChoiceOptions,
    Drop,
    HowToRead,
    MaxMeanDelay,
    MaxWorstDelay,
    Seed,
    Target,
    Threads,
)
from emsco.app.cli.output import doubts_of, echo, print_deployed, print_front, print_json
from emsco.app.cli.parsers import (
    parse_branches,
    parse_by_class,
    parse_class_weight,
    parse_cv,
    parse_delays,
    parse_estimator,
    parse_min_confidence,
    parse_screen_rows,
)

if TYPE_CHECKING:
    from emsco.app.files.sources import FitFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class FitData:
    """Options for the files of a fit, the rows that score designs and missing values."""

    PANEL: ClassVar[str] = "Rows and costs"

    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            help="CSV or Parquet file with features and labels, or a folder of Parquet files.",
        ),
    ] = None
    target: Target
    costs: Annotated[
        Path | None,
        typer.Option(
            help="Costs: CSV with the columns feature,cost and, if wanted, group (columns bought "
            "together), fee,fee_cost (paid once a row by all features that share it) and delay; "
            "JSON; or one line of numbers in column order. A cost may be the name of a column that "
            "holds the price of each row. By default every column costs 1."
        ),
    ] = None
    drop: Drop = None
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Column to keep although it looks like an id or a copy of another, or decides the "
            "class alone; others that do are left out, and a line says so. Repeatable.",
        ),
    ] = None
    weights: Annotated[
        str | None, typer.Option(help="Column with the weight of each row; not a feature.")
    ] = None
    train: Annotated[
        Path | None, typer.Option(help="Rows to fit on, instead of DATA; needs --val.")
    ] = None
    val: Annotated[
        Path | None, typer.Option(help="Rows to score designs on, instead of part of DATA.")
    ] = None
    test: Annotated[
        Path | None, typer.Option(help="Test rows: every design of the front is tested on them.")
    ] = None
    cv: Annotated[
        str,
        typer.Option(
            help="Rows of DATA that score designs: a number of folds, a share held out such as "
            "0.3, or auto: folds, repeated if rows are few, or a third if they are many."
        ),
    ] = "auto"
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of DATA with the group of a row, such as the patient; not a feature. "
            "All rows of a group stay in one fold.",
        ),
    ] = None
    gaps: Annotated[
        str, typer.Option(help="Missing values: refuse, impute, or skip stages that lack one.")
    ] = "refuse"
    evaluation_cost: Annotated[
        float, typer.Option(help="Cost of running a stage, on top of its features.")
    ] = 0.0

    delay: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FEATURE=TIME",
            help="Time until the value of a feature or group is there, as in chol=1, in any unit; "
            "repeatable. It replaces the one in a column delay of --costs. A stage waits for the "
            "slowest feature that it buys.",
        ),
    ] = None

    def settings(self) -> dict[str, Any]:
        """Return the options as parameters of `EMSCOClassifier`."""
        return {
            "gaps": self.gaps,
            "evaluation_cost": self.evaluation_cost,
            "delays": parse_delays(self.delay),
        }

    def files(self, read: HowToRead) -> FitFiles:
        """Return the options as `FitFiles`; raise if they contradict each other."""
        from emsco.app.files.sources import FitFiles

        return FitFiles(
            self.target,
            self.data,
            self.train,
            self.val,
            self.test,
            costs=self.costs,
            drop=tuple(self.drop or ()),
            weights=self.weights,
            keep=tuple(self.keep or ()),
            reading=read.reading(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FitSearch:
    """Options for the search."""

    PANEL: ClassVar[str] = "Search"

    max_stages: Annotated[int | None, typer.Option(help="Most stages of a design.")] = 4
    generations: Annotated[int, typer.Option(help="Generations of evolution.")] = 150
    population_size: Annotated[int, typer.Option(help="Designs in a generation.")] = 300
    branches: Annotated[
        str,
        typer.Option(
            metavar="WAYS",
            help="Most ways that rows may go after a stage, by a question such as 'TSH ≤ 6.1': 1 "
            "to 4, or auto: up to 4, kept only if they beat designs without a branch beyond noise. "
            "1: all rows go the same way, as always with --search paper or exact.",
        ),
    ] = "auto"
    search: Annotated[
        str, typer.Option(help="auto, exact, evolution or paper; see docs/how/search.md.")
    ] = "auto"
    metric: Annotated[
        str,
        typer.Option(
            help="Accuracy to search by: accuracy, or balanced_accuracy, where each class counts "
            "the same."
        ),
    ] = "accuracy"
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds that the fit may take, to its very end; the best designs so far are kept."
        ),
    ] = None
    screen_rows: Annotated[
        str,
        typer.Option(
            metavar="N",
            help="Search on a sample of so many rows, then give the best designs models of all "
            "rows. auto: 20,000 where there are 50,000 rows or more; none: all rows.",
        ),
    ] = "auto"
    memory_limit: Annotated[str, typer.Option(help="Most memory for fitted subsets.")] = "1GiB"

    def settings(self) -> dict[str, Any]:
        """Return the options as parameters of `EMSCOClassifier`."""
        return {
            **asdict(self),
            "branches": parse_branches(self.branches),
            "screen_rows": parse_screen_rows(self.screen_rows),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StageOptions:
    """Options for the model of each stage and the confidence it needs."""

    PANEL: ClassVar[str] = "Stages"

    min_confidence: Annotated[
        str,
        typer.Option(
            metavar="P",
            help="Confidence at which a row leaves a stage: a number, one for each class, as in "
            "ill=0.9,well=0.99, or auto: the search gives every stage its own.",
        ),
    ] = "auto"
    always_answer: Annotated[
        bool,
        typer.Option(
            "--always-answer", help="The last stage labels whoever is left, so no row is rejected."
        ),
    ] = False
    reject_below: Annotated[
        str | None,
        typer.Option(
            metavar="P",
            help="Confidence below which the last stage rejects a row: a number, or one for each "
            "class; 0 rejects nobody. By default as --min-confidence says.",
        ),
    ] = None
    estimator: Annotated[
        str,
        typer.Option(
            help="Model of each stage: logistic, spline (sees curves), boosting (sees "
            "interactions), auto (the best of these on your data), a scikit-learn classifier, as "
            "in 'DecisionTreeClassifier()', or a make_pipeline(...) that ends in one."
        ),
    ] = "auto"
    search_with: Annotated[
        str | None,
        typer.Option(
            help="Quicker models to search with: logistic, spline or boosting. The designs near "
            "the front then get those of --estimator."
        ),
    ] = None
    class_weight: Annotated[
        str | None, typer.Option(help="Weight of each class: balanced, or as in ill=5,well=1.")
    ] = None

    def settings(self) -> dict[str, Any]:
        """Return the options as parameters of `EMSCOClassifier`."""
        reject_below: Any = self.reject_below
        # Text like that of --min-confidence, but without "auto".
        if reject_below is not None:
            reject_below = parse_by_class("reject_below", reject_below)
        return {
            **asdict(self),
            "min_confidence": parse_min_confidence(self.min_confidence),
            "reject_below": reject_below,
            "estimator": parse_estimator(self.estimator),
            "class_weight": parse_class_weight(self.class_weight),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignRules:
    """Options for rules that every design must obey."""

    PANEL: ClassVar[str] = "Rules for designs"

    allow_exclusion: Annotated[
        bool,
        typer.Option(
            "--allow-exclusion/--buy-all",
            help="Whether designs may leave features out, or buy every feature in the end.",
        ),
    ] = True
    first: Annotated[
        list[str] | None,
        typer.Option(metavar="FEATURE", help="Feature that the first stage must buy; repeatable."),
    ] = None
    together: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FEATURES", help="Features that one stage must buy, as in a,b; repeatable."
        ),
    ] = None
    max_mean_cost: Annotated[float | None, typer.Option(help="Highest mean cost of a row.")] = None
    max_worst_cost: Annotated[float | None, typer.Option(help="Highest cost of any row.")] = None
    max_mean_delay: MaxMeanDelay = None
    max_worst_delay: MaxWorstDelay = None

    def settings(self) -> dict[str, Any]:
        """Return the options as parameters of `EMSCOClassifier`.

        Examples
        --------
        >>> DesignRules(first=["age"], together=["iron,zinc"]).settings()["constraints"]
        {'first': ['age'], 'together': [['iron', 'zinc']]}
        """
        rules = asdict(self)
        # An option of the classifier itself; the rest are constraints on designs.
        allow_exclusion = rules.pop("allow_exclusion")
        rules["together"] = [part.split(",") for part in self.together or ()]
        # Typer gives None for options left out, and an empty list for some that may be repeated.
        given = {name: rule for name, rule in rules.items() if rule not in (None, [])}
        return {"allow_exclusion": allow_exclusion, "constraints": given or None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment(ChoiceOptions):
    """Options for the design to deploy and the rows to fit it on."""

    PANEL: ClassVar[str] = "What errors cost, and the design to deploy: by a rule or within limits"

    prefer: Annotated[
        str | None,
        typer.Option(
            help="economical (the cheapest that answers everyone as well as buying everything), "
            "one_standard_error (the simplest nearly as good as the best), accurate, balanced, "
            "knee or fittest (the paper's rule).",
            show_default="economical",
        ),
    ] = None
    refit: Annotated[
        str,
        typer.Option(
            help="Models to deploy: average (the mean of those of all folds), all (fitted again "
            "on all rows of DATA) or first (those of the first fold)."
        ),
    ] = "average"

    def settings(self) -> dict[str, Any]:
        """Return the options as parameters of `EMSCOClassifier`.

        Examples
        --------
        >>> Deployment(max_cost=300.0).settings()["prefer"]
        {'max_cost': 300.0}
        >>> Deployment(error_cost=["500"]).settings()["error_cost"]
        500.0
        """
        limits = self.limits()
        # With limits, the rule is one of them: it chooses among the designs within.
        if limits and self.prefer is not None:
            limits["rule"] = self.prefer
        prefer = limits or self.prefer or "economical"
        return {"prefer": prefer, "refit": self.refit, **self.error_costs()}


RARE = (
    names_of(FitData, HowToRead, StageOptions, FitSearch, DesignRules)
    - {"data", "target", "costs", "drop", "groups", "gaps", "test", "estimator", "time_limit"}
) | {"prefer", "refit", "jobs"}
"""Options that most people never need: `emsco fit --help` leaves them out."""


def fit(
    files: FitData,
    read: HowToRead,
    stages: StageOptions,
    search: FitSearch,
    rules: DesignRules,
    deploy: Deployment,
    out: Annotated[
        Path, typer.Option(help="New folder for the results: the RUN of other commands.")
    ],
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue a run that was killed or interrupted.")
    ] = False,
    seed: Seed = 0,
    jobs: Threads = -1,
    as_json: AsJSON = False,
) -> None:
    """Search for cascades on your data, and keep the results in a folder.

    The folder holds run.json (settings and versions), front.json (every design worth choosing,
    with its fitted stages), cascade.json (the deployed one) and history.csv. While the search
    runs, it also holds answers.sqlite. If the search is killed, the same command with --resume
    continues it.

    With --error-cost, the search is for the lowest mean total of features, errors and rejections,
    and the design with the lowest expected total is deployed. Without --reject-cost, nobody is
    rejected.

    For example:

        emsco fit heart.csv --target disease --costs costs.csv --out heart-run

        emsco fit heart.csv --target disease --costs costs.csv --error-cost 500 --out heart-run

        emsco fit --train a.csv --val b.csv --test c.csv --target disease --out heart-run
    """
    # Imported late: a fit needs scikit-learn, which --help must not wait for.
    from emsco.app.runs.fit import fit_files

    settings: dict[str, Any] = {"n_jobs": jobs}
    # Each panel of options knows which parameters it makes.
    for topic in (files, stages, search, rules, deploy):
        settings |= topic.settings()
    fit_on = files.files(read)
    if search.search == "paper":  # which knows nothing of columns that look wrong
        fit_on = replace(fit_on, keep=None)
    with interruptible(lambda: _left(out)):
        run = fit_files(
            fit_on,
            out,
            seed=seed,
            cv=parse_cv(files.cv),
            groups=files.groups,
            resume=resume,
            verbose=1,
            **settings,
        )
    if as_json:
        costs = run.error_costs()
        print_json(
            {
                "run": str(out),
                **run.about,
                "metric": run.front.metric,
                "chosen": run.chosen,
                "doubts": doubts_of(run, run.chosen),
                "references": run.references(costs),
                "front": run.figures(None, costs),
            }
        )
    else:
        print_front(run)
        print_deployed(run)
        # Other commands refuse these types unless they are told, so the hint tells them.
        trust = "".join(f" --trust {name}" for name in run.cascade.untrusted_types)
        echo(
            f"Written to {out}. Next: emsco show {out}{trust}, emsco explore {out}{trust}, "
            f"emsco decide {out} NEW.csv{trust}"
        )
    if run.interrupted:
        say(f"interrupted; {_left(out)}.")
        # Its own exit code, though everything is written: a script must be able to tell.
        raise typer.Exit(INTERRUPTED)


def _left(out: Path) -> str:
    """Say whether an interrupted fit can be resumed."""
    from emsco.app.runs.run import CHECKPOINT

    if (out / CHECKPOINT).exists():
        return f"--resume goes on with {out}"
    return "nothing was found yet, and nothing is written"
