"""Online learning to rank that shares exposure fairly.

>>> import faircascade as fc
>>> data = fc.load_dataset("synthetic", users=50, items=80)
>>> env = fc.Environment.from_ratings(data, dim=5, k=5)
>>> result = fc.simulate(env, fc.EALinUCB(weight="log"), rounds=20, seed=1)
>>> 0 < result.clicks < 1
True
"""

import lazy_loader

from faircascade.version import __version__ as __version__

# Public names are listed in __init__.pyi and imported on first use.
_attribute, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    try:
        return _attribute(name)
    except AttributeError:
        from faircascade.errors import suggest

        close = "" if name.startswith("_") else suggest(name, __all__)
        raise AttributeError(f"faircascade has no {name!r}{close}") from None
