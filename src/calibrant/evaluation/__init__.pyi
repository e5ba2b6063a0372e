"""Public names; written by tools/make_stub.py, not by hand."""

from .measure import Evaluation as Evaluation
from .measure import evaluate as evaluate
from .recommendation import Recommendation as Recommendation
from .recommendation import recommend as recommend
