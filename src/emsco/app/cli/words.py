"""Put options of the command line in the place of parameters that messages name."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import Any

# Parameters whose option or argument has another name.
_NAMES = {
    "delays": "delay",
    "folder": "run",
    "n_jobs": "jobs",
    "path": "out",
    "random_state": "seed",
    "sample_weight": "weights",
    "trusted": "trust",
}
# What is quoted, a key of constraints, the first word of a sentence, and words with underscores
# outside of paths.
_WORDS = re.compile(
    r"""(?<!\w)(?P<quoted>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")
    |constraints\['(?P<key>\w+)'\]
    |(?P<first>(?:^|(?<=[.;]\ ))[a-z]+)(?=\ )
    |(?<![\w./\\-])(?P<name>[a-z]+(?:_[a-z]+)+)(?![\w/\\-]|\.\w)""",
    re.VERBOSE,
)
_options: dict[str, str] = {}  # of the command that runs, by parameter


def repeated(option: str, names: Iterable[str]) -> str:
    """Return an option once for each name, as one types it."""
    return " ".join(f"{option} {shlex.quote(name)}" for name in names)


def speak_of(command: Any) -> None:
    """Let messages name the options and arguments of a command, the one that runs."""
    _options.clear()
    for one in command.params:
        if one.param_type_name == "argument":
            _options[one.name] = str(one.metavar or one.name.upper())
        for option in (*one.opts, *one.secondary_opts):
            if option.startswith("--"):
                _options[option[2:].replace("-", "_")] = option


def in_options(message: object) -> str:
    """Return a message with options in the place of parameters.

    A parameter is a word with an underscore, or the first word of a sentence. What is quoted stays
    as it is.
    """

    def word(found: re.Match[str]) -> str:
        name = found["key"] or found["first"] or found["name"] or ""
        return _options.get(_NAMES.get(name, name), found[0])

    return _WORDS.sub(word, str(message))
