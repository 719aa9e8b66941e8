/**
 * Checks that exclude weak RSA moduli from the public key alone. A modulus of 2048 bits without a prime factor below 2^20 has
 * at most 102 prime factors, so a random message shares one with it at most once in 10,000 times; blinding refuses that
 * message (blind.js).
 */

const SMALLEST_FACTOR_BITS = 20;
const CHUNK = 100; // primes in one product: about as many bits as a modulus has
const checked = new Map();
let primes, products;

/** Return the rule that `faultOfModulus` checks, in words. */
export const ruleForModuli = (bits) =>
  `an odd number of ${bits} bits, no power of another number, without a prime factor below 2^${SMALLEST_FACTOR_BITS}`;

/** Return why a modulus (in hexadecimal) is no RSA modulus of `bits` bits, or null where no fault is found. */
export function faultOfModulus(text, bits) {
  if (!checked.has(text)) checked.set(text, faultOf(BigInt(`0x${text}`), bits));
  return checked.get(text);
}

function faultOf(modulus, bits) {
  const length = modulus.toString(2).length;
  if (length !== bits) return `has ${length} bits`;
  if (modulus % 2n === 0n) return "is even";
  makePrimes();
  const factor = smallFactor(modulus);
  if (factor) return `is divisible by ${factor}`;
  const exponent = primes.filter((k) => k <= bits / SMALLEST_FACTOR_BITS).find((k) => isPower(modulus, BigInt(k)));
  return exponent ? `is a number to the power of ${exponent}` : null;
}

/** Compute the primes below 2^20 (Eratosthenes), and their products, a hundred in each. */
function makePrimes() {
  if (primes) return;
  const limit = 1 << SMALLEST_FACTOR_BITS;
  const composite = new Uint8Array(limit);
  primes = [];
  for (let number = 2; number < limit; number++) {
    if (composite[number]) continue;
    primes.push(number);
    for (let other = number * number; other < limit; other += number) composite[other] = 1;
  }
  products = [];
  for (let start = 0; start < primes.length; start += CHUNK) {
    products.push(primes.slice(start, start + CHUNK).reduce((product, prime) => product * BigInt(prime), 1n));
  }
}

/** Return the smallest prime factor below 2^20, or undefined. */
function smallFactor(modulus) {
  const product = products.reduce((one, other) => (one * other) % modulus, 1n);
  const common = gcd(product, modulus);
  return common === 1n ? undefined : primes.find((prime) => common % BigInt(prime) === 0n);
}

/** Return the greatest common divisor of two numbers. */
export function gcd(one, other) {
  while (other) [one, other] = [other, one % other];
  return one;
}

/** Return whether a number is a k-th power: its root by Newton's method, from the power of two above it. */
function isPower(number, k) {
  const bits = BigInt(number.toString(2).length);
  const newton = (guess) => ((k - 1n) * guess + number / guess ** (k - 1n)) / k;
  // The iteration decreases until it reaches the root.
  let root = 1n << (bits / k + 1n);
  for (let lower = newton(root); lower < root; lower = newton(root)) root = lower;
  return root ** k === number;
}
