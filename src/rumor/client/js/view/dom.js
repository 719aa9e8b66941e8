/** Elements without a framework. */

/**
 * Return an element with attributes, listeners (names that begin with "on") and children.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...any} children nodes, texts and lists of them; nothing for null and false
 */
export function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== false));
  return node;
}

/** @param {string} id */
export const byId = (id) => document.getElementById(id);
