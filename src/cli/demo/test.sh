#!/bin/sh
# Checks cart.sh; prints what is wrong and exits 1 if anything is.

failed=0
check() { # WANT PRICE...
    want=$1
    shift
    got=$(sh cart.sh "$@")
    if [ "$got" = "$want" ]; then
        echo "ok    cart.sh $* = $got"
    else
        echo "FAIL  cart.sh $* = $got, should be $want"
        failed=1
    fi
}

check 0
check 999 500 499
check 900 500 500
check 1800 1500 500

exit $failed
