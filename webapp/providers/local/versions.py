"""The versions of installed packages, each looked up once: a look reads files, and answers stay as they are."""

from functools import cache
from importlib.metadata import version

installed = cache(version)
