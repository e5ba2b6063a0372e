"""Public names, loaded when they are first used."""

from .dossier import Dossier as Dossier
from .dossier import validate as validate
from .references import Compared as Compared
from .references import Reference as Reference
