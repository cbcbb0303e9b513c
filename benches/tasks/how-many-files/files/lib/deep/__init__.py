# lib/deep/__init__.py
