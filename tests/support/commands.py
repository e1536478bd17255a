"""What tests of commands say about their results."""

from support.sentences import assert_is_a_sentence


def refuses(result, shown):
    """Exit code 1, a sentence alone on standard error, and nothing on standard output."""
    assert (result.code, result.out) == (1, "")
    assert_is_a_sentence(result.err.strip().removeprefix("emsco: "), str(shown))
