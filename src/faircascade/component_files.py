"""Parts in files and modules of one's own: found by name once they are loaded, here or in workers.

`components = ["mine.py"]` in a spec and `--components mine.py` end here. A worker process is told
by `references` what to load in its turn.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from faircascade.registry import Component
from faircascade.registry.discovery import advertised_modules
from faircascade.registry.names import unregister
from faircascade.registry.own_parts import own_parts

MAIN = "__main__"
_files: dict[str, tuple[Path, bytes]] = {}
"""What was loaded from files, by the name of its module: the file and its source."""


def load_components(names: Iterable[str], folder: Path = Path()) -> tuple[str, ...]:
    """Load files (looked for in a folder) and modules; return them as found from anywhere."""
    return tuple(load_component(name, folder) for name in names)


def load_component(name: str, folder: Path = Path()) -> str:
    """Load one file or module, unless it is loaded already; refuse one without a part."""
    own_parts()  # so that a name that this package has is taken, whoever comes first
    is_file = name.endswith(".py") or Path(name).name != name
    file = (folder / Path(name).expanduser()).resolve() if is_file else None
    _find_beside(file.parent if file is not None else folder.resolve())
    module = _import(name) if file is None else _load_file(file, name)
    if not _has_part(module):
        raise ValueError(f'{name}: there is no part in it; give a class @register("its-name")')
    return name if file is None else str(file)


def references(needed: Collection[type[Component]]) -> dict[str, Any]:
    """Return what another process must load, as `load_references` takes it, to know some parts.

    A `ValueError` says of a part that no other process can know why that is so.
    """
    known = advertised_modules()
    modules = {cls.__module__: cls for cls in needed if cls.__module__ not in known}
    for cls in needed:
        if "<locals>" in cls.__qualname__:
            raise ValueError(
                f"{cls.kind} {cls.name!r} is defined inside a function; define it outside"
            )
    main = modules.pop(MAIN, None)
    for module, cls in modules.items():
        if module not in _files and not _is_importable(module):
            raise _no_file(cls)
    found = [str(_files[m][0]) if m in _files else m for m in modules]
    return {"components": found, "main": {} if main is None else _main(main)}


def load_references(given: dict[str, Any]) -> None:
    """Load in this process what `references` named in another."""
    if given["main"]:
        from multiprocessing.spawn import prepare

        prepare(given["main"])  # as multiprocessing does: __name__ is not "__main__" meanwhile
    load_components(given["components"])


def _load_file(file: Path, name: str) -> ModuleType:
    """Return the module of a file; a file that has changed since is loaded again."""
    if not file.is_file():
        raise ValueError(f"{name}: no such file")
    for same in (MAIN, "__mp_main__", file.stem):  # whoever imported it
        if same not in _files and _file_of(sys.modules.get(same)) == file:
            return sys.modules[same]
    module, source = file.stem, file.read_bytes()
    if _files.get(module) == (file, source) and _has_part(sys.modules[module]):
        return sys.modules[module]
    if module not in _files and _is_importable(module) and _origin(module) != file:
        raise ValueError(f"{name}: another module is called {module!r}; rename the file")
    unregister(module)
    made = ModuleType(module)
    made.__file__ = str(file)
    sys.modules[module], _files[module] = made, (file, source)
    try:
        exec(compile(source, str(file), "exec", dont_inherit=True), made.__dict__)
    except Exception as error:
        unregister(module)
        del sys.modules[module], _files[module]
        raise ValueError(_fault(name, file, error)) from error
    return made


def _import(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            hint = f"; a file is written {name}.py" if "." not in name else ""
            raise ValueError(f"{name}: no such module{hint}") from None
        raise ValueError(_fault(name, None, error)) from error
    except Exception as error:
        raise ValueError(_fault(name, None, error)) from error


def _fault(name: str, file: Path | None, error: Exception) -> str:
    """Return in one line what is wrong with somebody's file or module, and where."""
    if isinstance(error, SyntaxError):
        return f"{name}, line {error.lineno}: {error.msg}"
    lines, trace = [], error.__traceback__
    while trace is not None:
        if file is not None and trace.tb_frame.f_code.co_filename == str(file):
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    place = f"{name}, line {lines[-1]}" if lines else name
    foreseen = type(error) in (ValueError, TypeError)  # such as a name that is taken
    return f"{place}: {error}" if foreseen else f"{place}: {type(error).__name__}: {error}"


def _find_beside(folder: Path) -> None:
    """Let files import those beside them; what is installed comes first."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _has_part(module: ModuleType) -> bool:
    """Say whether a module, or what it imports into itself, defines a part."""
    inside = f"{module.__name__}."
    return any(
        f"{cls.__module__}.".startswith(inside) or vars(module).get(cls.__name__) is cls
        for cls in own_parts()
    )


def _main(cls: type[Component]) -> dict[str, str]:
    """Return how another process imports the script that runs here without running it."""
    main = sys.modules[MAIN]
    file, spec = _file_of(main), getattr(main, "__spec__", None)
    if file is None or not file.is_file():
        raise _no_file(cls)
    if not _is_guarded(file.read_bytes()):
        raise ValueError(
            f"put what {file.name} runs under if __name__ == '__main__': so that worker processes "
            "can import its parts"
        )
    return (
        {"init_main_from_path": str(file)} if spec is None else {"init_main_from_name": spec.name}
    )


def _no_file(cls: type[Component]) -> ValueError:
    what = f"{cls.kind} {cls.name!r}"
    return ValueError(f"{what} is in no file; put it into one and name that in components = [...]")


def _is_guarded(source: bytes) -> bool:
    """Say whether a script has a part that is not run when it is imported."""
    tests = [ast.dump(node.test) for node in ast.parse(source).body if isinstance(node, ast.If)]
    return any("'__name__'" in test and f"'{MAIN}'" in test for test in tests)


def _is_importable(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ValueError, ImportError):  # made up while this runs, or inside such a one
        return False


def _origin(module: str) -> Path | None:
    """Return the file that a module would be imported from."""
    spec = find_spec(module)
    return None if spec is None or not spec.has_location else Path(str(spec.origin)).resolve()


def _file_of(module: ModuleType | None) -> Path | None:
    file = getattr(module, "__file__", None)
    return None if file is None else Path(file).resolve()
