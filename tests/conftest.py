"""What every test can count on."""

from __future__ import annotations

import signal

from hypothesis import settings

settings.register_profile("faircascade", deadline=None, print_blob=True)  # machines are busy
settings.load_profile("faircascade")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell lets what it runs in the background ignore Ctrl-C, which tests send to themselves.
    signal.signal(signal.SIGINT, signal.default_int_handler)
