# lib/deep/c.py
