"""Every pass does what its docstring shows, to the letter, and keeps the meaning."""

import textwrap

import pytest

from cuvil_pack.ir.text import to_text
from cuvil_pack.passes import PASSES, Pass
from tests.passes.graphs import distance, read


@pytest.mark.parametrize("each", dict.fromkeys(PASSES), ids=lambda p: p.__name__)
def test_docstring(each: Pass) -> None:
    given, _, result = (each.__doc__ or "").partition("Given:")[2].partition("Result:")
    before = read(given)
    after = each(before)
    assert to_text(after, places=False).strip() == textwrap.dedent(result).strip()
    assert distance(before, after) < 1e-6
