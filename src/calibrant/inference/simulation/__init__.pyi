"""Public names, loaded when they are first used."""

from .simulate import Simulation as Simulation
from .simulate import make_calibrated as make_calibrated
from .simulate import make_miscalibrated as make_miscalibrated
from .simulate import true_calibration_error as true_calibration_error
from .simulate import true_value as true_value
from .warps import Warp as Warp
from .warps import bias as bias
from .warps import bump as bump
from .warps import by_group as by_group
from .warps import confusion as confusion
from .warps import function as function
from .warps import label_noise as label_noise
from .warps import prior_shift as prior_shift
from .warps import softmax_map as softmax_map
from .warps import temperature as temperature
