"""Opening a tokenizer of the package `tokenizers`, whose errors and panics become one kind of error."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from seesay.errors import SeesayError


def open_tokenizer(text: str, origin: str) -> Any:
    """A tokenizer of the package `tokenizers`.

    Raises:
        SeesayError: The text is none.
    """
    from tokenizers import Tokenizer

    with named_by(origin):
        return Tokenizer.from_str(text)


@contextmanager
def named_by(origin: str) -> Iterator[None]:
    """Say of which tokenizer an error of the package `tokenizers` is.

    It raises nothing narrower than `Exception`, and where its own code panics, something that is not even that.
    """
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise SeesayError(f"{origin} is not a tokenizer that can be read: {str(error)[:200]}") from error
