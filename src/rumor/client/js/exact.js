/** Privacy losses as doubles, rounded up by exact integer arithmetic: a double is never below the loss that it stands for. */

// The smallest double, and with it every other, is a multiple of 2^-1074.
const FINEST = 1074;

/** Return the number of binary digits of a positive integer. */
const bitLength = (n) => n.toString(2).length;

/** Return the smallest double that is not below n / 2^places. */
function doubleUp(n, places) {
  const spare = Math.max(0, bitLength(n) - 53);
  const kept = n >> BigInt(spare);
  const whole = kept << BigInt(spare) === n ? kept : kept + 1n;
  return Number(whole) * 2 ** (spare - places);
}

/**
 * Return artanh(above / below) of a fraction up to 1/3, in units of 2^-places, and a bound on the error (`cut`).
 * Every step rounds down: each power by less than 2 units, each quotient by less than one more,
 * and the rest of the series is below 3, so that less than 3 (terms + 1) units are cut off.
 */
function artanh(above, below, places) {
  let power = (above << BigInt(places)) / below;
  const square = (power * power) >> BigInt(places);
  let [sum, terms] = [0n, 0n];
  for (let odd = 1n; power > 0n; odd += 2n, terms++) {
    sum += power / odd;
    power = (power * square) >> BigInt(places);
  }
  return { sum, cut: 3n * (terms + 1n) };
}

/**
 * Return the smallest double that is not below ln(above / below), for integers above >= below > 0.
 *
 * With m = above / (below 2^k) between 1/2 and 2, it is 2 k artanh(1/3) + 2 artanh((m - 1) / (m + 1)).
 * Where the error could change the double, more places are used; the logarithm of a fraction other than 1 is irrational, so
 * some number of places suffices.
 */
export function logUp(above, below) {
  if (above <= below) return 0;
  if (below <= 0n) return Infinity;
  const doublings = BigInt(bitLength(above) - bitLength(below));
  const gap = above - (below << doublings);
  const [sign, apart] = gap < 0n ? [-1n, -gap] : [1n, gap];
  for (let places = 320; ; places *= 2) {
    const two = doublings ? artanh(1n, 3n, places) : { sum: 0n, cut: 0n };
    const rest = artanh(apart, above + (below << doublings), places);
    const sum = 2n * (doublings * two.sum + sign * rest.sum);
    const least = sum - (gap < 0n ? 2n * rest.cut : 0n);
    const found = doubleUp(sum + 2n * (doublings * two.cut + rest.cut), places);
    if (least > 0n && found === doubleUp(least, places)) return found;
  }
}

/** Return a double as an integer of units of 2^-1074. */
function asUnits(x) {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, Math.abs(x));
  const word = bits.getBigUint64(0);
  const exponent = word >> 52n;
  const fraction = word & ((1n << 52n) - 1n);
  const size = exponent ? (fraction | (1n << 52n)) << (exponent - 1n) : fraction;
  return x < 0 ? -size : size;
}

const sumUnits = (parts) => parts.reduce((total, [part, times]) => total + asUnits(part) * BigInt(times), 0n);
const once = (losses) => losses.map((loss) => [loss, 1]);

/** Return the smallest double that is not below a sum of [loss, times] pairs; infinite if a loss is. */
export function totalUp(parts) {
  if (parts.some(([loss, times]) => loss === Infinity && times)) return Infinity;
  const total = sumUnits(parts);
  return total > 0n ? doubleUp(total, FINEST) : 0;
}

/** Return the sum of the `count` largest `losses` (by default all), rounded up. */
export const sumOfLargest = (losses, count = losses.length) => sumUp([...losses].sort((a, b) => b - a).slice(0, count));

/** Return the smallest double that is not below the sum of `losses`. */
export const sumUp = (losses) => totalUp(once(losses));

/** Return whether `losses` sum to more than `ceiling`, compared exactly. */
export const exceeds = (losses, ceiling) => losses.includes(Infinity) || sumUnits(once(losses)) > asUnits(ceiling);
