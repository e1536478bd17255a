"""`emsco-lab reproduce`: the figures and tables of the paper."""

import typer

from emsco_lab.paper.comparison import reproduce_comparison
from emsco_lab.paper.costs import reproduce_costs
from emsco_lab.paper.global_optima import reproduce_global
from emsco_lab.paper.landscape import reproduce_landscape
from emsco_lab.paper.mutation import reproduce_mutation
from emsco_lab.paper.sweep import reproduce_sweep
from emsco_lab.paper.tuning import reproduce_tuning

reproduce = typer.Typer(
    name="reproduce",
    help="Recompute the figures and tables of the paper.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (
    reproduce_mutation,
    reproduce_landscape,
    reproduce_global,
    reproduce_comparison,
    reproduce_tuning,
    reproduce_sweep,
    reproduce_costs,
):
    reproduce.command(command.__name__.removeprefix("reproduce_"))(command)
