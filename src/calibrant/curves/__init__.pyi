"""Public names, loaded when they are first used."""

from .curves import Beta as Beta
from .curves import Interpolated as Interpolated
from .curves import Kernel as Kernel
from .curves import Logistic as Logistic
from .curves import PiecewiseLinear as PiecewiseLinear
from .curves import Quadratic as Quadratic
from .curves import beta as beta
from .curves import centered_isotonic as centered_isotonic
from .curves import isotonic as isotonic
from .curves import kernel as kernel
from .curves import logistic as logistic
from .curves import piecewise_linear as piecewise_linear
from .curves import quadratic as quadratic
from .curves import spline as spline
