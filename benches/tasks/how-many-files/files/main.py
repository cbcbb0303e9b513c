# main.py
