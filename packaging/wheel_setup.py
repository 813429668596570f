"""setup.py of the wheel: the pure package plus one shared library that needs no Python of a certain version."""

import os
import platform

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel


class WithLibrary(Distribution):
    def has_ext_modules(self):
        return True


class AnyPython(bdist_wheel):
    def get_tag(self):
        return "py3", "none", f"{os.environ['MANYLINUX']}_{platform.machine()}"


setup(
    distclass=WithLibrary,
    cmdclass={"bdist_wheel": AnyPython},
    package_data={"reactant_mpi": ["_lib/*"]},
)
