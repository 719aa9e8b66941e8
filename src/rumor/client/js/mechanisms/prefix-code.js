/**
 * Texts as bits: prefix codes. A code is rows [length, symbol, ...], shortest first; a symbol is a
 * text, "" the end mark, or the first byte of UTF-8 of characters without a symbol, behind which
 * each further byte comes as six bits. Code words are given out in order. A code of texts of one
 * length is {length, rows}, and has no end mark: no bit of any other text is written.
 */

import { refuse, checkInteger } from "../checks.js";
import { utf8, wellFormed } from "../bytes.js";

const MAX_LENGTH = 32;

/** Return a text in the form that codes write: normal form C. */
export const normalise = (text) => wellFormed(text).normalize("NFC");

/** Return a function that writes texts as bits in the code of a contract. */
export function prefixCode(code) {
  const fixed = code !== null && typeof code === "object" && !Array.isArray(code);
  const [rows, only] = fixed ? readFixedLength(code) : [code, null];
  if (!Array.isArray(rows) || !rows.length) refuse("a code must be a list of rows [length, symbol, ...]", rows);
  const words = new Map();
  let [word, last, room] = [0n, 0, 0n];
  for (const row of rows) {
    if (!Array.isArray(row) || row.length < 2) refuse("a row of a code must be [length, symbol, ...]", row);
    const [length, ...symbols] = row;
    checkInteger("the length of a row of a code", length, last + 1, MAX_LENGTH);
    word <<= BigInt(length - last);
    last = length;
    for (const symbol of symbols) {
      checkSymbol(symbol, words);
      words.set(symbol, [word++, length]);
      room += 1n << BigInt(MAX_LENGTH - length);
    }
  }
  if (!fixed && !words.has("")) refuse('a code must have an end mark, the symbol ""', "none");
  if (fixed && words.has("")) refuse('a code of one length must have no end mark, the symbol ""', "one");
  if (words.size < 2 || words.size > 4096) refuse("a code must have 2 to 4096 symbols", words.size);
  if (room > 1n << BigInt(MAX_LENGTH)) refuse("the code words of a code must be prefix-free", "too many for their lengths");
  const longest = Math.max(...[...words.keys()].map((s) => (typeof s === "string" ? [...s].length : 1)));
  /** The code word of the next symbol, its length, and how many characters it stands for. */
  const next = (characters, place) => {
    for (let used = Math.min(longest, characters.length - place); used > 0; used--) {
      const found = words.get(characters.slice(place, place + used).join(""));
      if (found) return [...found, used];
    }
    const [first, ...rest] = utf8(characters[place]);
    const found = words.get(first);
    if (!found) return null;
    return [...rest.reduce(([w, n], byte) => [(w << 6n) | BigInt(byte & 0x3f), n + 6], found), 1];
  };
  /** The first `most` bits of a text with its end mark: all of them where it `ended`. */
  return (text, most) => {
    const characters = [...text];
    let [bits, length, place] = [0n, 0, 0];
    if (fixed && characters.length !== only) return { bits, length, ended: false };
    const add = (code, count) => {
      bits = (bits << BigInt(count)) | code;
      length += count;
    };
    let ended = false;
    while (length < most && !ended) {
      const found = place < characters.length ? next(characters, place) : [...words.get(""), 1];
      if (!found) return { bits, length, ended: false };
      add(found[0], found[1]);
      place += found[2];
      ended = place === characters.length + !fixed;
    }
    if (length <= most) return { bits, length, ended };
    return { bits: bits >> BigInt(length - most), length: most, ended: false };
  };
}

function readFixedLength(code) {
  const plain = Object.keys(code).sort().join() === "length,rows";
  if (!plain) refuse("a code of one length must be its length and its rows", Object.keys(code));
  return [code.rows, checkInteger("the length of a code's texts", code.length, 1, 256)];
}

function checkSymbol(symbol, words) {
  const text = typeof symbol === "string" && [...symbol].length <= 32 && normalise(symbol) === symbol;
  const lead = Number.isInteger(symbol) && symbol >= 194 && symbol <= 244;
  if (!text && !lead) {
    refuse("a symbol must be a text of up to 32 characters in normal form C, or a first byte from 194 to 244", symbol);
  }
  if (words.has(symbol)) refuse("the symbols of a code must be distinct", symbol);
}
