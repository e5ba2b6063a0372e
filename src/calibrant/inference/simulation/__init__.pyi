"""Public names, loaded when they are first used."""

from .simulate import Simulation as Simulation
from .simulate import Warp as Warp
from .simulate import bias as bias
from .simulate import bump as bump
from .simulate import by_group as by_group
from .simulate import confusion as confusion
from .simulate import function as function
from .simulate import label_noise as label_noise
from .simulate import make_calibrated as make_calibrated
from .simulate import make_miscalibrated as make_miscalibrated
from .simulate import prior_shift as prior_shift
from .simulate import softmax_map as softmax_map
from .simulate import temperature as temperature
from .simulate import true_calibration_error as true_calibration_error
from .simulate import true_value as true_value
