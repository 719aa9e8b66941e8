/** Bytes: hexadecimal, little-endian integers, packed bits, UTF-8. */

export const toHex = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");

export const fromHex = (text) =>
  Uint8Array.from({ length: text.length / 2 }, (_, i) => parseInt(text.slice(2 * i, 2 * i + 2), 16));

export function concat(...parts) {
  const out = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** Return a text with U+FFFD for unpaired surrogates, so that no typed text is refused. */
export const wellFormed = (text) => text.replace(/\p{Surrogate}/gu, "\ufffd");

/** Return the UTF-8 bytes of a text, made well-formed. */
export const utf8 = (text) => Uint8Array.from(unescape(encodeURIComponent(wellFormed(text))), (letter) => letter.charCodeAt());

/** Return how many bytes hold a number below `count`. */
export const bytesFor = (count) => Math.max(1, Math.ceil((32 - Math.clz32(count - 1)) / 8));

/** Return unsigned integers below 2^32 as bytes, each in `width` bytes, little-endian. */
export function littleEndian(width, ...numbers) {
  const out = new Uint8Array(width * numbers.length);
  numbers.forEach((number, n) => {
    for (let i = 0; i < width; i++) out[n * width + i] = number >>> (8 * i);
  });
  return out;
}

/** Return the unsigned integer that little-endian bytes stand for. */
export const fromLittleEndian = (bytes) => bytes.reduceRight((sum, byte) => sum * 256 + byte, 0);

/** Return the first `count` integers of these bytes, each in `width` bytes. */
export const integers = (bytes, width, count) =>
  Array.from({ length: count }, (_, i) => fromLittleEndian(bytes.subarray(i * width, (i + 1) * width)));

/** Return bit i: bit i % 8 of byte i // 8. */
export const bitAt = (bytes, i) => (bytes[i >> 3] >> (i & 7)) & 1;

export const unpackBits = (bytes, size) => Array.from({ length: size }, (_, i) => bitAt(bytes, i));

export function packBits(size, positions) {
  const out = new Uint8Array((size + 7) >> 3);
  for (const i of positions) out[i >> 3] |= 1 << (i & 7);
  return out;
}

/** Return packed bits, `decide(i)` for each i in order. */
export function makeBits(size, decide) {
  const out = new Uint8Array((size + 7) >> 3);
  for (let i = 0; i < size; i++) if (decide(i)) out[i >> 3] |= 1 << (i & 7);
  return out;
}
