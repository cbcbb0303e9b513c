const RATE = 0.07;

function calcTotal(items) {
  return items.reduce((sum, item) => sum + item.price * item.count, 0);
}

function calcTotalWithTax(items) {
  return calcTotal(items) * (1 + RATE);
}

function receipt(items) {
  const lines = items.map((item) => `${item.name}: ${item.price * item.count}`);
  lines.push(`total: ${calcTotal(items)}`);
  return lines.join("\n");
}

module.exports = { calcTotal, calcTotalWithTax, receipt };
