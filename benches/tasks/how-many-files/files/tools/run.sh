py
