"""Adds the course to a wheel: the lessons, their exercises and the tests that judge them.

In a clone they are in tutorials/ and tests/, beside the package; installed, in tinyjax_course/.
A tree without them, as for browsers, is built without the course. setup.cfg has everything else.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", "figures", "wrong_answers")


class BuildWithCourse(build_py):
    def run(self) -> None:
        super().run()
        for folder in ("tutorials", "tests"):
            if not self.editable_mode and Path(folder).is_dir():
                target = Path(self.build_lib, "tinyjax_course", folder)
                shutil.copytree(folder, target, ignore=LEFT_OUT, dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildWithCourse})
