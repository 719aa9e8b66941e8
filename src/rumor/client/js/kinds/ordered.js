/** An answer that has an order: one of the labels, or a number. */

export { typed } from "./choice.js";
