"""Errors as facts: parts of a message, the parameter it is about, and the way out."""

import pickle
import re

import pytest

from emsco._base.checks import check_choice, check_number, check_whole, memory_bytes, refused
from emsco.designs.constraints import Constraints
from emsco.errors import (
    CheckpointError,
    CostsError,
    DataError,
    DataWarning,
    EMSCOError,
    EMSCOWarning,
    FileError,
    Hint,
    MemoryLimitError,
    NoSuchDesign,
    Parameter,
    ParameterError,
    Remedy,
)

EVERY = [CheckpointError, CostsError, DataError, FileError, MemoryLimitError, NoSuchDesign]
EVERY += [EMSCOError, ParameterError, EMSCOWarning, DataWarning]


def upper(part):
    return part.name.upper() if isinstance(part, Parameter) else "HELP"


@pytest.mark.parametrize("kind", EVERY)
def test_a_message_is_written_in_pythons_words_or_in_others(kind):
    error = kind(Parameter("out"), " must be new; ", Hint(Remedy.RESUME), ".")
    assert str(error) == "out must be new; resume=True goes on with it."
    assert error.reworded(upper) == "OUT must be new; HELP."
    assert error.hint == Hint(Remedy.RESUME)


def test_a_message_of_text_alone_has_no_hint_and_one_wording():
    error = EMSCOError("a {brace} and a 100% are no marks.")
    assert (error.hint, error.reworded(upper)) == (None, str(error))


@pytest.mark.parametrize("remedy", Remedy)
def test_every_way_out_has_words_for_python(remedy):
    words = str(Hint(remedy, ("a b", "c")))
    assert words
    assert not re.search(r"--|\{names\}|\{\{", words)


def test_a_way_out_names_what_it_is_about():
    assert str(Hint(Remedy.DROP, ("a b", "c"))) == "drop 'a b', 'c'"
    assert str(Hint(Remedy.LIMITS)) == "or limits such as {'max_cost': 300}"


@pytest.mark.parametrize(
    ("check", "parameter", "value"),
    [
        (lambda: check_choice("search", "best", ("auto",)), "search", "best"),
        (lambda: check_whole("max_stages", 9, 1, 4), "max_stages", 9),
        (lambda: check_number("held_out", 2.0, 0, 1), "held_out", 2.0),
        (lambda: check_number("w", -1, 0, 1, of="class 'ill'"), "w", -1),
        (lambda: memory_bytes("memory_limit", "much"), "memory_limit", "much"),
        (lambda: Constraints.from_rules({"first": "x"}, ("a",)), "constraints['first']", "x"),
    ],
)
def test_a_parameter_error_carries_the_parameter_and_the_value(check, parameter, value):
    with pytest.raises(ParameterError, match="must") as caught:
        check()
    assert (caught.value.parameter, caught.value.value) == (parameter, value)
    assert str(caught.value).startswith(parameter)


def test_a_refusal_says_which_must_got_and_the_way_out():
    error = refused("val", ("stand beside ", Parameter("train")), 3, got="none", hint="add it")
    assert str(error) == "val must stand beside train, got none; add it."
    assert error.reworded(upper) == "VAL must stand beside TRAIN, got none; add it."
    assert str(refused("p", "be 1", "?")) == "p must be 1, got '?'."
    assert str(refused("p", "be 1", 2, hint="is it 1?")) == "p must be 1, got 2; is it 1?"


def test_an_error_about_no_parameter_says_so():
    assert ParameterError("all must agree.").parameter is None
    assert ParameterError("all must agree.", parameter="models").parameter == "models"


def test_an_error_of_another_process_keeps_its_facts():
    error = pickle.loads(pickle.dumps(refused("n_jobs", "be 1", 2, hint=Hint(Remedy.RESUME))))
    assert isinstance(error, ParameterError)
    assert (error.parameter, error.value, error.hint) == ("n_jobs", 2, Hint(Remedy.RESUME))
    assert error.reworded(upper) == "N_JOBS must be 1, got 2; HELP."
