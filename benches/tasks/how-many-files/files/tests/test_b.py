# tests/test_b.py
