"""A process that may do no more than its files' rights say, also where root runs the tests.

Root reads and writes everything, whatever the rights of a file, because of a few capabilities. A process
that has lost them meets the files of other users as any user does. (Another user's id would not do: it
need not be able to read this Python, which may lie in root's own folder.)
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

NOBODY = 65534
PR_CAPBSET_DROP = 24
#: CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH and CAP_FOWNER: to do as one likes with any file.
ANY_FILE = (0, 1, 2, 3)


def give_up_leave() -> None:
    """Let the command that this process becomes next (`preexec_fn`) have no leave of root's."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in ANY_FILE:
            if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
                raise OSError(ctypes.get_errno(), "root's leave cannot be given up")


def hand_over(path: Path, mode: int = 0) -> Path:
    """Make a file or folder somebody else's, as far as we can: another owner's, and shut by its mode."""
    path.chmod(mode)
    if os.geteuid() == 0:
        os.chown(path, NOBODY, NOBODY)
    return path
