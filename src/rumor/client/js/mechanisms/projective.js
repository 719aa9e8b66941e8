/** Projective-geometry response (Feldman et al. 2022): one number that stands for a share of the answers. */

import { fromLittleEndian, littleEndian } from "../bytes.js";
import { refuse, checkInteger, threshold } from "../checks.js";
import { choice } from "./labels.js";
import { oneNumber } from "./one-number.js";

export const keys = ["domain", "field", "inside"];

const [MOST_VALUES, MOST_POINTS, LARGEST] = [2e6, 2 ** 24, 4096];

/** Return `field` to the power `times`, exact below 2^53. */
const power = (field, times) => (times ? field * power(field, times - 1) : 1);

/** Return the number of points of the projective space with this number of `dimensions`. */
const pointsOf = (field, dimensions) => (power(field, dimensions) - 1) / (field - 1);

export function make(p, labels) {
  const base = choice(p.domain, MOST_VALUES, labels);
  const field = checkInteger("field", p.field, 2, LARGEST);
  for (let n = 2; n * n <= field; n++) if (field % n === 0) refuse("field must be a prime", field);
  let dimensions = 3;
  while (pointsOf(field, dimensions) < base.domain) dimensions++;
  const [points, supporting] = [pointsOf(field, dimensions), pointsOf(field, dimensions - 1)];
  if (points > MOST_POINTS) refuse(`field must be a prime with at most 2^24 points for ${base.domain} values`, field);
  const others = power(field, dimensions - 1);
  const inside = threshold("inside", p.inside);
  const number = oneNumber(inside, supporting, others);
  return {
    ...base,
    ...number,
    draw(code, draws) {
      const own = coordinates(field, dimensions, code);
      const near = draws.coin(inside);
      const free = near
        ? coordinates(field, dimensions - 1, draws.below(supporting))
        : digits(field, dimensions - 1, draws.below(others));
      // The other coordinates go around the place of the value's last one, which is 1.
      const place = lastPlace(own);
      free.splice(place, 0, 0);
      const product = own.reduce((sum, mine, i) => sum + mine * free[i], near ? 0 : -1);
      free[place] = modulo(-product, field);
      return littleEndian(number.width, pointOf(field, dimensions, free));
    },
    supports(report) {
      const said = coordinates(field, dimensions, fromLittleEndian(report));
      return (code) => coordinates(field, dimensions, code).reduce((sum, each, i) => sum + each * said[i], 0) % field === 0;
    },
    caption: `One number from 0 to ${points - 1}; each stands for about one in ${field} of the answers.`,
  };
}

const modulo = (n, field) => ((n % field) + field) % field;

/** A number's digits in base `field`, the first the most significant. */
function digits(field, count, number) {
  const found = new Array(count).fill(0);
  for (let i = count - 1; i >= 0; i--) {
    found[i] = number % field;
    number = Math.floor(number / field);
  }
  return found;
}

/** The coordinates of a point: the last that is not 0 is 1, and those before it are the digits of its number. */
function coordinates(field, dimensions, point) {
  let last = dimensions - 1;
  for (; point >= power(field, last); last--) point -= power(field, last);
  return [...digits(field, last, point), 1, ...new Array(dimensions - 1 - last).fill(0)];
}

/** Return the place of the last number that is not 0. */
const lastPlace = (vector) => vector.reduce((last, number, place) => (number ? place : last), -1);

/** Return the number of the point that `vector` is a multiple of. */
function pointOf(field, dimensions, vector) {
  const last = lastPlace(vector);
  const scale = inverse(vector[last], field);
  const code = vector.slice(0, last).reduce((number, each) => number * field + ((each * scale) % field), 0);
  return pointsOf(field, dimensions) - pointsOf(field, last + 1) + code;
}

/** 1 / n modulo a prime, by Fermat: n to the power of the prime less two. */
function inverse(n, field) {
  let [found, base] = [1, n];
  for (let left = field - 2; left; left >>= 1, base = (base * base) % field) {
    if (left & 1) found = (found * base) % field;
  }
  return found;
}
