# tests/test_a.py
