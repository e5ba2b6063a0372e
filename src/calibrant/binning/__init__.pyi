"""Public names, loaded when they are first used."""

from .partition import KDTree as KDTree
from .partition import SimplexGrid as SimplexGrid
from .rules import Edges as Edges
from .rules import EqualMass as EqualMass
from .rules import EqualWidth as EqualWidth
from .rules import Levels as Levels
from .rules import Quantile as Quantile
from .searches import EqualArea as EqualArea
from .table import BinTable as BinTable
