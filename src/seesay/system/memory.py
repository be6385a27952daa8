"""Memory that is free and still held."""

import ctypes
import sys


def give_back_memory() -> bool:
    """Let the C library give the pages that are free back to the system; says whether any were.

    glibc keeps what threads have freed, for each thread apart: after photos were decoded and looked at by threads that
    have ended since, that is more than all that is in use. Other C libraries keep less, and are left alone.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        return bool(ctypes.CDLL(None).malloc_trim(0))
    except (AttributeError, OSError):
        return False
