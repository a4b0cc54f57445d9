import csv
import io

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fewlabel.kernels.text_rows import end_of_rows


def end(text, separator=","):
    return end_of_rows(np.frombuffer(text.encode(), dtype=np.uint8), np.uint8(ord(separator)))


def test_by_hand():
    assert end("a,b\n1,2") == 4
    assert end('a,b\n1,"x\ny') == 4  # the field goes on
    assert end('a,b\n1,"x\ny"\n2') == 12
    assert end('1,"x""\n""y"\n') == 12
    assert end('1,5" pipe\n2,x\n') == 14  # a quote within a field is a character like any other
    assert end("no row ends") == 0


cells = st.text(alphabet='ab,"\n;', max_size=6)


@given(st.lists(st.lists(cells, min_size=2, max_size=3), min_size=1, max_size=5), st.data())
def test_what_is_cut_off_is_whole_rows(rows, data):
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    text = file.getvalue()
    start = text[: data.draw(st.integers(0, len(text)))]
    whole = list(csv.reader(io.StringIO(start[: end(start)])))
    assert whole == rows[: len(whole)]
    assert end(text) == len(text)
    rest = list(csv.reader(io.StringIO(text[end(start) :])))
    assert whole + rest == rows
