"""Public names; written by tools/make_stub.py, not by hand."""

from .dossier import Dossier as Dossier
from .dossier import validate as validate
from .references import Compared as Compared
from .references import Reference as Reference
