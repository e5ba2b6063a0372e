"""The GiViTI calibration test against givitiR."""

from tests.r.common import Compute, compare, every_call

# givitiR maximises the likelihood by glm with its default of 8 digits of the deviance.
TOLERANCE = 1e-6
# Its p-values are 1 minus a distribution function from `integrate`, with an absolute error of up to 1e-6; calibrant's have 10 digits or more
# (birthwt, internal: 2.131598e-5 by quadrature with 30 digits, 2.0748e-5 in givitiR).
DECIMALS = 1e-6


@every_call("giviti", {})
def test_giviti(call: str, compute: Compute) -> None:
    compare("giviti", call, compute, TOLERANCE, DECIMALS)
