"""Public names, loaded when they are first used."""

from .parse import Edges as Edges
from .parse import EqualArea as EqualArea
from .parse import EqualMass as EqualMass
from .parse import EqualWidth as EqualWidth
from .parse import Levels as Levels
from .parse import Quantile as Quantile
from .partition import KDTree as KDTree
from .partition import SimplexGrid as SimplexGrid
from .table import BinTable as BinTable
