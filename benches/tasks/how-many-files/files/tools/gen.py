# tools/gen.py
