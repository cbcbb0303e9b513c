# lib/__init__.py
