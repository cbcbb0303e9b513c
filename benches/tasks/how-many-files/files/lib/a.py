# lib/a.py
