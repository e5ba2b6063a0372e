"""Public names, loaded when they are first used."""

from .evaluation_logs import read_helm as read_helm
from .evaluation_logs import read_inspect as read_inspect
from .language_models import read_lm_harness as read_lm_harness
from .language_models import read_openai_logprobs as read_openai_logprobs
from .missing import Dropped as Dropped
from .predictions import Predictions as Predictions
from .stated_confidence import parse_confidence as parse_confidence
from .unjoined import join_events as join_events
