/**
 * A small document, so that Node runs the pages: elements, fields that read what is typed as browsers do, events that
 * bubble, and selectors of a few shapes. What a page uses and this lacks fails loudly: nothing here does nothing.
 */

class Node_ {
  parentNode = null;
  get parentElement() {
    return this.parentNode instanceof Element ? this.parentNode : null;
  }
  get isConnected() {
    return this.getRootNode() instanceof Document || this.getRootNode().host?.isConnected === true;
  }
  getRootNode() {
    return this.parentNode ? this.parentNode.getRootNode() : this;
  }
  remove() {
    if (!this.parentNode) return;
    const { childNodes } = this.parentNode;
    childNodes.splice(childNodes.indexOf(this), 1);
    this.parentNode = null;
  }
}

class Text extends Node_ {
  constructor(data) {
    super();
    this.data = data;
  }
  get textContent() {
    return this.data;
  }
}

/** Anything with children. */
class Parent extends Node_ {
  childNodes = [];
  #listeners = new Map();

  get children() {
    return this.childNodes.filter((node) => node instanceof Element);
  }
  get firstChild() {
    return this.childNodes[0] ?? null;
  }
  hasChildNodes() {
    return this.childNodes.length > 0;
  }
  get textContent() {
    return this.childNodes.map((node) => node.textContent).join("");
  }
  set textContent(text) {
    this.replaceChildren(...(text === null || text === "" ? [] : [String(text)]));
  }
  append(...nodes) {
    for (const given of nodes) {
      const node = given instanceof Node_ ? given : new Text(String(given));
      node.remove();
      node.parentNode = this;
      this.childNodes.push(node);
      if (!this.isConnected) continue;
      for (const each of [node, ...descendants(node)]) each.connectedCallback?.();
      if (node.localName === "script") documentOf(node).load(node);
    }
  }
  replaceWith(node) {
    node.remove();
    this.parentNode.childNodes[this.parentNode.childNodes.indexOf(this)] = node;
    [node.parentNode, this.parentNode] = [this.parentNode, null];
  }
  replaceChildren(...nodes) {
    for (const old of [...this.childNodes]) old.remove();
    this.append(...nodes);
  }
  querySelectorAll(selector) {
    return descendants(this).filter((element) => element.matches(selector));
  }
  querySelector(selector) {
    return first(this, (element) => element.matches(selector));
  }
  getElementById(id) {
    return first(this, (element) => element.attributes.get("id") === id);
  }
  addEventListener(type, listener) {
    if (typeof listener !== "function") throw new TypeError(`a listener must be a function; got ${listener}`);
    this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener]);
  }
  /** What listeners promised, so that a test can wait for it. */
  heard(event) {
    const found = (this.#listeners.get(event.type) ?? []).map((listener) => listener.call(this, event));
    const up = event.bubbles ? this.parentNode ?? (event.composed ? this.host : undefined) : undefined;
    return [...found, ...(up ? up.heard(event) : [])];
  }
  dispatchEvent(event) {
    Object.defineProperty(event, "target", { value: this, configurable: true });
    return this.heard(event);
  }
}

/** The elements below a node, in order. */
function descendants(node, found = []) {
  for (const each of node.childNodes ?? []) {
    if (!(each instanceof Element)) continue;
    found.push(each);
    descendants(each, found);
  }
  return found;
}

/** The first element below a node that fits. */
function first(node, fits) {
  for (const each of node.childNodes) {
    if (!(each instanceof Element)) continue;
    const found = fits(each) ? each : first(each, fits);
    if (found) return found;
  }
  return null;
}

/** The style of an element: plain members, and custom properties. */
class Style {
  setProperty(name, value) {
    this[name] = String(value);
  }
}

class ClassList {
  constructor(element) {
    this.element = element;
  }
  get names() {
    return (this.element.getAttribute("class") ?? "").split(/\s+/).filter(Boolean);
  }
  contains(name) {
    return this.names.includes(name);
  }
  toggle(name, wanted = !this.contains(name)) {
    const others = this.names.filter((each) => each !== name);
    this.element.setAttribute("class", [...others, ...(wanted ? [name] : [])].join(" "));
  }
  add(name) {
    this.toggle(name, true);
  }
  remove(name) {
    this.toggle(name, false);
  }
}

// Attributes that are properties of the same name: texts, and those that are there or not.
const TEXTS = ["id", "name", "lang", "href", "hreflang", "type", "src", "download", "list"];
const FLAGS = ["hidden", "disabled", "open"];

export class Element extends Parent {
  attributes = new Map();
  style = new Style();
  classList = new ClassList(this);
  shadowRoot = null;

  constructor(tag = "div") {
    super();
    this.localName = tag;
  }
  setAttribute(name, value) {
    if (!/^[a-z][\w:.-]*$/.test(name)) throw new TypeError(`an attribute cannot be called ${name}`);
    const before = this.getAttribute(name);
    this.attributes.set(name, String(value));
    if (this.constructor.observedAttributes?.includes(name)) this.attributeChangedCallback(name, before, String(value));
  }
  getAttribute(name) {
    return this.attributes.get(name) ?? null;
  }
  hasAttribute(name) {
    return this.attributes.has(name);
  }
  removeAttribute(name) {
    this.attributes.delete(name);
  }
  get className() {
    return this.getAttribute("class") ?? "";
  }
  set className(value) {
    this.setAttribute("class", value);
  }
  get dataset() {
    return Object.fromEntries([...this.attributes].filter(([name]) => name.startsWith("data-")).map(([name, value]) => [name.slice(5), value]));
  }
  attachShadow() {
    return (this.shadowRoot = Object.assign(new Parent(), { host: this, adoptedStyleSheets: [] }));
  }
  matches(selector) {
    return selector.split(",").some((each) => matchesChain(this, each.trim()));
  }
  closest(selector) {
    return this.matches(selector) ? this : this.parentElement?.closest(selector) ?? null;
  }
  focus() {
    const able = ["input", "select", "button", "a", "summary"].includes(this.localName) || this.hasAttribute("tabindex");
    if (able && this.isConnected && !this.disabled) documentOf(this).activeElement = this;
  }
  scrollIntoView(how) {
    documentOf(this).scrolled = `${named(this)} ${how?.block ?? "start"}`;
  }
  click() {
    if (this.disabled) return [];
    if (this.localName === "summary") return this.parentElement.toggle(!this.parentElement.open);
    if (this.localName === "a" && this.hasAttribute("download")) documentOf(null).downloads.push([this.href, this.download]);
    const event = new Event("click", { bubbles: true, cancelable: true });
    const found = this.dispatchEvent(event);
    const form = this.localName === "button" && this.type !== "button" && this.closest("form");
    return form ? [...found, ...form.dispatchEvent(new Event("submit", { cancelable: true }))] : found;
  }
  /** Open or close what can be, as a person does. */
  toggle(open) {
    this.open = open;
    return this.dispatchEvent(new Event("toggle"));
  }
  get elements() {
    const fields = descendants(this).filter(({ localName }) => ["input", "select", "button"].includes(localName));
    return Object.assign([...fields], Object.fromEntries(fields.filter(({ name }) => name).map((field) => [field.name, field])));
  }
  // A dialog
  showModal() {
    this.open = true;
    this.querySelector("[autofocus]")?.focus();
  }
  close(value) {
    if (value !== undefined) this.returnValue = value;
    this.open = false;
    return this.dispatchEvent(new Event("close"));
  }
}

for (const name of TEXTS) {
  Object.defineProperty(Element.prototype, name, {
    get() {
      return this.getAttribute(name) ?? "";
    },
    set(value) {
      this.setAttribute(name, value);
    },
  });
}
for (const name of FLAGS) {
  Object.defineProperty(Element.prototype, name, {
    get() {
      return this.hasAttribute(name);
    },
    set(value) {
      if (value) this.setAttribute(name, "");
      else this.removeAttribute(name);
    },
  });
}

// What a browser reads as a number; anything else that is typed it gives as nothing, and says so in `validity`.
const NUMBER = /^-?(\d+(\.\d+)?|\.\d+)(e[+-]?\d+)?$/i;

class Input extends Element {
  #typed = null;
  #checked = null;

  constructor() {
    super("input");
  }
  get type() {
    return this.getAttribute("type") ?? "text";
  }
  get value() {
    const raw = this.#typed ?? this.getAttribute("value") ?? (this.type === "checkbox" ? "on" : "");
    if (this.type === "number") return NUMBER.test(raw) ? raw : "";
    if (this.type !== "range") return raw;
    const [low, high] = [Number(this.getAttribute("min")), Number(this.getAttribute("max"))];
    return String(Math.min(high, Math.max(low, NUMBER.test(raw) ? Number(raw) : (low + high) / 2)));
  }
  set value(value) {
    this.#typed = String(value ?? "");
  }
  get valueAsNumber() {
    return this.value === "" ? NaN : Number(this.value);
  }
  get validity() {
    return { badInput: this.type === "number" && this.#typed !== null && this.#typed !== "" && !NUMBER.test(this.#typed) };
  }
  get checked() {
    return this.#checked ?? this.hasAttribute("checked");
  }
  set checked(value) {
    this.#checked = Boolean(value);
    if (!value || this.type !== "radio") return;
    for (const other of descendants(this.getRootNode())) {
      if (other !== this && other instanceof Input && other.type === "radio" && other.name === this.name) other.checked = false;
    }
  }
  /** Type a text in place of what is there. */
  enter(text) {
    this.value = text;
    return this.dispatchEvent(new Event("input", { bubbles: true }));
  }
  click() {
    if (this.disabled || (this.type === "radio" && this.checked)) return [];
    this.checked = this.type === "radio" || !this.checked;
    return this.dispatchEvent(new Event("change", { bubbles: true }));
  }
}

class Select extends Element {
  #chosen = null;

  constructor() {
    super("select");
  }
  get value() {
    const options = descendants(this);
    const marked = options.find((option) => option.hasAttribute("selected")) ?? options[0];
    return this.#chosen ?? marked?.getAttribute("value") ?? "";
  }
  set value(value) {
    this.#chosen = String(value);
  }
  /** Choose one of the options. */
  enter(value) {
    if (!descendants(this).some((option) => option.getAttribute("value") === value)) throw new Error(`no option ${value}`);
    this.value = value;
    return this.dispatchEvent(new Event("change", { bubbles: true }));
  }
}

export class Document extends Parent {
  activeElement = null;
  adoptedStyleSheets = [];
  scrolled = null;
  downloads = [];
  hidden = false;
  title = "";

  constructor() {
    super();
    this.documentElement = this.createElement("html");
    this.head = this.createElement("head");
    this.body = this.createElement("body");
    this.documentElement.append(this.head, this.body);
    this.append(this.documentElement);
  }
  createElement(tag) {
    const custom = globalThis.customElements?.get(tag);
    if (custom) return Object.assign(new custom(), { localName: tag });
    return tag === "input" ? new Input() : tag === "select" ? new Select() : new Element(tag);
  }
  createElementNS(_, tag) {
    return this.createElement(tag);
  }
  /** Elements as a page's HTML has them: tags with attributes, and no text that matters. */
  parse(html) {
    const open = [this.body];
    for (const [, end, tag, attributes] of html.split("<body>")[1].matchAll(/<(\/?)([a-z0-9]+)([^>]*)>/g)) {
      if (end) open.pop();
      else {
        const element = this.createElement(tag);
        for (const [, name, value] of attributes.matchAll(/([a-z-]+)(?:="([^"]*)")?/g)) element.setAttribute(name, value ?? "");
        open.at(-1).append(element);
        if (!["img", "input"].includes(tag)) open.push(element);
      }
    }
  }
}

const documentOf = (node) => {
  const root = node?.getRootNode();
  return root instanceof Document ? root : root?.host ? documentOf(root.host) : globalThis.document;
};

/** An element by its id or the like, for people. */
export const named = (element) => element.localName + (element.id ? `#${element.id}` : "");

function matchesChain(element, selector) {
  const [, before, child, last] = /^(?:(.+?)(\s*>\s*|\s+))?([^\s>]+)$/.exec(selector);
  if (!matchesOne(element, last)) return false;
  if (!before) return true;
  if (child.includes(">")) return element.parentElement ? matchesChain(element.parentElement, before) : false;
  for (let up = element.parentElement; up; up = up.parentElement) if (matchesChain(up, before)) return true;
  return false;
}

// The parts of a selector without spaces, and when an element fits each.
const PARTS = [
  [/^\*/, () => () => true],
  [/^[a-z][\w-]*/, ([tag]) => (element) => element.localName === tag],
  [/^#([\w-]+)/, ([, id]) => (element) => element.id === id],
  [/^\.([\w-]+)/, ([, name]) => (element) => element.classList.contains(name)],
  [/^:not\(([^)]+)\)/, ([, inner]) => (element) => !matchesOne(element, inner)],
  [/^\[([\w-]+)(?:=["']?([^\]"']*)["']?)?\]/, ([, name, value]) => (element) => element.hasAttribute(name) && (value === undefined || element.getAttribute(name) === value)],
];
const read = new Map();

function readSelector(selector) {
  const tests = [];
  for (let rest = selector; rest; ) {
    const [found, make] = PARTS.map(([part, fits]) => [part.exec(rest), fits]).find(([match]) => match) ?? [];
    if (!found) throw new Error(`this document does not know the selector ${selector}`);
    tests.push(make(found));
    rest = rest.slice(found[0].length);
  }
  return tests;
}

function matchesOne(element, selector) {
  if (!read.has(selector)) read.set(selector, readSelector(selector));
  return read.get(selector).every((fits) => fits(element));
}

/**
 * What stands on a page, a line for each element: its tag with attributes in their order, what a field holds, its style,
 * and its text. What is hidden is left out but for its name, and so is what the page's HTML says anyway.
 */
export function outline(node, depth = 0) {
  const indent = "  ".repeat(depth);
  if (node instanceof Text) return [`${indent}${JSON.stringify(node.data)}`];
  const attributes = [...node.attributes].filter(([name]) => !["hidden", "value", "checked"].includes(name));
  const said = attributes.map(([name, value]) => (value === "" ? ` ${name}` : ` ${name}=${JSON.stringify(value)}`));
  const style = Object.entries(node.style).map(([name, value]) => `${name}: ${value}`).join("; ");
  const holds = "value" in node && !["checkbox", "radio"].includes(node.type) ? ` = ${JSON.stringify(node.value)}` : "";
  const ticked = ["checkbox", "radio"].includes(node.type) ? ` ${node.checked ? "[x]" : "[ ]"}` : "";
  const value = node.localName === "option" || ["radio", "button"].includes(node.type) || !("value" in node) ? node.getAttribute("value") : null;
  const line = indent + node.localName + said.join("") + (value === null ? "" : ` value=${JSON.stringify(value)}`) + (style ? ` {${style}}` : "") + holds + ticked +
    (documentOf(node).activeElement === node ? " (focused)" : "");
  if (node.hidden) return [`${indent}${named(node)} hidden`];
  const inner = [...(node.shadowRoot?.childNodes ?? []), ...node.childNodes];
  if (inner.length > 1 && inner.every(isTile)) return [`${line} tiles ${inner.map((tile) => tile.textContent).join("")}`];
  if (inner.length === 1 && inner[0] instanceof Text) return [`${line}: ${JSON.stringify(inner[0].data)}`];
  return [line, ...inner.flatMap((child) => outline(child, depth + 1))];
}

/** A bit as pages draw it, in its place: many of them are one line. */
const isTile = (node, i) =>
  node.localName === "span" && node.className === (node.textContent === "1" ? "bit one" : "bit") && node.style["--i"] === String(i) && Object.keys(node.style).length === 1;
