"""Commands of the build; pyproject.toml has everything else."""

import sys
from pathlib import Path

from setuptools import setup

sys.path.insert(0, str(Path(__file__).parent / "packaging"))

from nemesis_build import BuildWithLibrary, PlatformDistribution, PlatformWheel

setup(distclass=PlatformDistribution, cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel})
