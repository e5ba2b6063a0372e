"""One thread for tensors that are small: several only wait for each other."""

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    torch = pytest.importorskip("torch", reason="NO TORCH: pip install 'calibrant[torch]' to test what needs it")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
