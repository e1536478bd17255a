"""What tests of commands say about their results."""


def refuses(result, words):
    """Exit code 1, the sentence alone on standard error, and nothing on standard output."""
    assert (result.code, result.err, result.out) == (1, f"emsco: {words}\n", "")
