"""Public names, loaded when they are first used."""

from .lenses import Lens as Lens
from .lenses import class_ as class_
from .lenses import class_groups as class_groups
from .lenses import class_hierarchy as class_hierarchy
from .lenses import classwise as classwise
from .lenses import ordinal as ordinal
from .lenses import pair as pair
from .lenses import rank as rank
from .lenses import top_k as top_k
from .lenses import within_top as within_top
from .selections import Selection as Selection
from .selections import select as select
from .view import VectorView as VectorView
from .view import View as View
