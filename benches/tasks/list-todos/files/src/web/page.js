// The page itself.
export function render(rows) {
  // TODO: escape the names
  return rows.map((row) => `<li>${row.name}</li>`).join("");
}
