# lib/b.py
