def test_x():
    """x"""
    import benchmarks.streams
