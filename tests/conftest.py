"""What every test can count on."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

settings.register_profile(
    "faircascade",
    deadline=None,  # machines are busy
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("faircascade")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell lets what it runs in the background ignore Ctrl-C, which tests send to themselves.
    signal.signal(signal.SIGINT, signal.default_int_handler)
