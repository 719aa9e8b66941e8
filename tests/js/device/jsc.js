/** Scripts in the shell of JavaScriptCore, driven line by line as in node.mjs: jsc FILE... jsc.js */

var ask = (text) => {
  print(`ask ${text}`);
  return readline();
};
for (let line = readline(); line !== null && line !== undefined && line !== ""; line = readline()) {
  const { name, text } = JSON.parse(line);
  print(`done ${name.split(".").reduce((found, part) => found[part], globalThis)(text)}`);
}
