#!/bin/sh
# Weekly figures from the tally.
echo "Weekly report"
echo "============="
sort -k2 -n -r tally.txt | while read -r what count; do
    printf '%-10s %4d\n' "$what" "$count"
done
