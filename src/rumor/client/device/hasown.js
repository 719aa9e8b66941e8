/** Names of newer editions of the language, which engines of 2021 lack; the build puts them in their place. */

export const hasOwn = (object, key) => Object.prototype.hasOwnProperty.call(object, key);
