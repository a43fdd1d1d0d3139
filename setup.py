"""Adds the course to a wheel: the lessons, their exercises and the tests that judge them.

In a clone they are in tutorials/ and tests/, beside the package; installed, in tinyjax_course/.
A tree without them, as for browsers, is built without the course. Source archives get their date here, too.
setup.cfg has everything else.
"""

import gzip
import os
import shutil
import tarfile
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", "figures", "wrong_answers")


class BuildWithCourse(build_py):
    def run(self) -> None:
        super().run()
        for folder in ("tutorials", "tests"):
            if not self.editable_mode and Path(folder).is_dir():
                target = Path(self.build_lib, "tinyjax_course", folder)
                shutil.copytree(folder, target, ignore=LEFT_OUT, dirs_exist_ok=True)


class DatedSource(sdist):
    """With SOURCE_DATE_EPOCH, the same tree gives the same bytes, as it does for the wheel."""

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, **owner):
        date = os.environ.get("SOURCE_DATE_EPOCH")
        if format != "gztar" or date is None:
            return super().make_archive(base_name, format, root_dir, base_dir, **owner)

        def dated(member: tarfile.TarInfo) -> tarfile.TarInfo:
            member.mtime, member.uid, member.gid = int(date), 0, 0
            member.uname = member.gname = ""
            return member

        path = f"{base_name}.tar.gz"
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with gzip.GzipFile(path, "wb", mtime=int(date)) as packed:
            with tarfile.open(fileobj=packed, mode="w") as archive:
                archive.add(base_dir, filter=dated)
        return path


setup(cmdclass={"build_py": BuildWithCourse, "sdist": DatedSource})
