from holokern.numeric import nullspace


def test_nullspace():
    assert nullspace([[1, 2], [2, 4], [0, 1]]) == [[-2, 1, 0]]
    assert nullspace([[0, 0]]) == [[1]]
    assert nullspace([[], []]) == [[1, 0], [0, 1]]
    assert nullspace([]) == []
