/** The finaliser of SplitMix64 (Steele, Lea and Flood 2014): a fixed permutation of 64-bit words. */
export function mix64(z) {
  z = BigInt.asUintN(64, z);
  z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
}
