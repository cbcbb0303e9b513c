// Small statistics over lists of numbers.

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

function average(values) {
  return sum(values) / values.length;
}

function spread(values) {
  return Math.max(...values) - Math.min(...values);
}

module.exports = { sum, average, spread };
