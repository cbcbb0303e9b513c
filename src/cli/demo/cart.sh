#!/bin/sh
# Prints the total of a cart in cents: sh cart.sh PRICE...
# From a sum of 1000 on, a tenth is taken off.

sum=0
for price in "$@"; do
    sum=$((sum + price))
done

if [ "$sum" -gt 1000 ]; then
    sum=$((sum - sum / 10))
fi

echo "$sum"
