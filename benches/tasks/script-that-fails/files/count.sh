#!/bin/sh
# Prints the number of seeds in the boxes.
total=0
for box in boxes/*.txt; do
    seeds=$(wc -l < "$box")
    total=$((total + seeds))
doen
echo "$total seeds"
