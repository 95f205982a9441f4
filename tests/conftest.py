"""Every test has a home of its own; neither the test nor its workers read or write the user's own files."""

from __future__ import annotations

import gc
import itertools
import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from engine.history import history
from engine.service import service
from engine.store import database
from tests import compiled, sentences
from tests.cases import pytest_collection_modifyitems, pytest_generate_tests  # noqa: F401
from tests.home import places
from tests.sentences import pytest_addoption, pytest_sessionfinish, pytest_testnodedown  # noqa: F401

SETTINGS = ("STREAMLIT_", "KERNEL_LADDER_", "DASK_")  # prefixes of variables that would change the tests

_numbers = itertools.count()


def pytest_configure(config: pytest.Config) -> None:
    """Give this process and its children an environment without the user's settings, before any module is imported."""
    home = Path(tempfile.mkdtemp(prefix="kernel-ladder-tests-"))
    config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))
    config.add_cleanup(service.disconnect)  # end the worker that the tests share
    for name in [name for name in os.environ if name.startswith(SETTINGS)]:
        del os.environ[name]
    os.environ.update(places(home))
    # The tests start hundreds of programs, so each module is compiled once, even if the environment asks for no
    # bytecode.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["CUPY_CACHE_DIR"] = str(home / "cupy")  # CuPy remembers the place of its cache beyond the home of a test
    sentences.pytest_configure(config)
    compiled.pytest_configure(config)
    if config.pluginmanager.hasplugin("xdist"):  # else the tests run in this process
        config.pluginmanager.import_plugin("tests.distribution")
    if "not gpu" in config.option.markexpr:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # the same on a machine with a GPU


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Spare the collector of garbage the thousands of items: they live as long as the process."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def own_home() -> Iterator[Path]:
    """Give the test an empty home below the process's own, without measurements."""
    home = Path(os.environ["HOME"]) / str(next(_numbers))
    home.mkdir()
    with pytest.MonkeyPatch.context() as patch:  # not the test's own, which it may undo
        for name, place in places(home).items():
            patch.setenv(name, place)
        history.forget()
        yield home
        database.close()
    try:
        home.rmdir()  # most tests leave it empty
    except OSError:
        shutil.rmtree(home, ignore_errors=True)  # at once: at the end of thousands of tests it would take too long
