/** Base64 (RFC 4648, section 4). */

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Return bytes in base64, padded. */
export function toBase64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 3) {
    const group = (bytes[at] << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    for (const shift of [18, 12, 6, 0]) text += LETTERS[(group >> shift) & 63];
  }
  const spare = (3 - (bytes.length % 3)) % 3;
  return text.slice(0, text.length - spare) + "=".repeat(spare);
}

/** Return the bytes of a text in base64, padded or not; throw where it is another text. */
export function fromBase64(text) {
  const letters = [...text.replace(/={1,2}$/, "")].map((letter) => LETTERS.indexOf(letter));
  if (letters.length % 4 === 1 || letters.includes(-1)) throw new Error("a text must be in base64; got another text");
  const bytes = new Uint8Array((letters.length * 6) >> 3);
  let [held, bits, at] = [0, 0, 0];
  for (const letter of letters) {
    held = ((held << 6) | letter) & 0xfff;
    bits += 6;
    if (bits >= 8) bytes[at++] = held >> (bits -= 8);
  }
  return bytes;
}
