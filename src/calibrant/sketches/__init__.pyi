"""Public names, loaded when they are first used."""

from .collection import Sketches as Sketches
from .files.scanning import scan as scan
from .sketch import Sketch as Sketch
from .warehouse import cells_query as cells_query
