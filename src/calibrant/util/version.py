"""The version of the package: the one place where it is written; the build, the documentation and the citation follow."""

__version__ = "1.0.0rc1"
