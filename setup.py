"""The wheel: the packages, and inside `engine.shipped` the folders that they read, which lie beside them here."""

import shutil
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

SHIPPED = {f"engine.shipped.{name}": name for name in ("cuda", "notes", "questions", "recorded", "sheets")}


def required(name: str) -> list[str]:
    """Return the packages of a file of requirements, without its comments and the files that it includes."""
    lines = [line.partition(" #")[0].strip() for line in Path(name).read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line and not line.startswith(("#", "-r"))]


class Build(build_py):
    """Put the settings of Streamlit beside dashboard.py, where Streamlit looks for them."""

    def run(self) -> None:
        """Build the packages, then add the settings."""
        super().run()
        target = Path(self.build_lib) / ".streamlit"
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(".streamlit/config.toml", target)


setup(
    cmdclass={"build_py": Build},
    packages=[*find_packages(include=["engine", "engine.*", "views", "views.*"]), *SHIPPED],
    package_dir=SHIPPED,
    package_data={"": ["**/*"]},
    exclude_package_data={"": ["**/*.pyc"]},
    py_modules=["dashboard"],
    install_requires=[*required("requirements.txt"), *required("requirements-common.txt")],
    extras_require={name: required(f"requirements-{name}.txt") for name in ("gpu", "cluster", "notebook")},
)
