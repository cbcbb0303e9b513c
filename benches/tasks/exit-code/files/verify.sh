# Compares the two lists; the exit code says how many entries differ.
missing=0
while read -r name; do
    grep -qx "$name" stock.txt || missing=$((missing + 1))
done < wanted.txt
echo "compared"
exit "$missing"
