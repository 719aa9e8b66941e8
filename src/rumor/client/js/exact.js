/**
 * Losses rounded upwards, decided by whole numbers: a double is taken only where an exact
 * comparison says that it is not below what it stands for.
 */

// The smallest double, and with it every other, is a multiple of 2^-1074.
const FINEST = 1074;

/** How many binary digits a positive integer has. */
const bitLength = (n) => n.toString(2).length;

/** The smallest double that is not below n / 2^places. */
function doubleUp(n, places) {
  const spare = Math.max(0, bitLength(n) - 53);
  const kept = n >> BigInt(spare);
  const whole = kept << BigInt(spare) === n ? kept : kept + 1n;
  return Number(whole) * 2 ** (spare - places);
}

/**
 * artanh(above / below) of a fraction up to 1/3, in units of 2^-places, and how many terms it took.
 * Every step rounds down: each power by less than 2 units, each quotient by less than one more,
 * and what is left of the series is below 3, so that less than 3 (terms + 1) units are cut off.
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
 * The smallest double that is not below ln(above / below), for integers above >= below > 0.
 *
 * With m = above / (below 2^k) between 1/2 and 2, it is 2 k artanh(1/3) + 2 artanh((m - 1) / (m + 1)).
 * Where what is cut off could change the double, more places decide; the logarithm of a fraction
 * other than 1 is irrational, so that some number of places does.
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

/** A double as an integer of 2^-1074. */
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

/** The smallest double that is not below a sum of losses, each so many times; infinite if one is. */
export function totalUp(parts) {
  if (parts.some(([loss, times]) => loss === Infinity && times)) return Infinity;
  const total = sumUnits(parts);
  return total > 0n ? doubleUp(total, FINEST) : 0;
}

/** What so many of these come to together at most, rounded up; by default all of them. */
export const sumOfLargest = (losses, count = losses.length) => sumUp([...losses].sort((a, b) => b - a).slice(0, count));

/** The smallest double that is not below a sum of losses. */
export const sumUp = (losses) => totalUp(once(losses));

/** Whether losses add up to more than a ceiling: exactly, so that no rounding lets one pass. */
export const exceeds = (losses, ceiling) => losses.includes(Infinity) || sumUnits(once(losses)) > asUnits(ceiling);
