"""Calibration for PyTorch: collect logits, evaluate networks, metric objects, calibration modules, losses and abstention.

Importing this package imports torch; `import calibrant` does not.

>>> import torch
>>> import calibrant.torch as ct
>>> model, loader = torch.nn.Linear(2, 3), [(torch.zeros(4, 2), torch.tensor([0, 1, 2, 0]))]
>>> ct.collect(model, loader).logits.shape
torch.Size([4, 3])
"""

from lazy_loader import attach_stub

from ..errors import MissingDependencyError

try:
    import torch as _torch  # noqa: F401 - only to report how to install it
except ImportError as error:
    raise MissingDependencyError("torch", "is not installed", "pip install 'calibrant[torch]'") from error

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
# Calibrator modules register themselves on import. Metric objects are loaded on first use: they import torchmetrics, where it
# is installed, which takes longer than importing torch.
from . import modules  # noqa: E402, F401
