// Print how the page's sources read, in figures, for tests/measures.py: tokens as TypeScript parses them, the longest
// line, and functions of more than 60 lines. `node measure.mjs --worst` lists those functions.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const SOURCES = join(dirname(fileURLToPath(import.meta.url)), "src");
const MOST_LINES = 60;

/** Tokens are leaves of the tree: comments aren't in it, and white space between JSX elements isn't counted. */
function isToken(node, source) {
  const isText = node.kind !== ts.SyntaxKind.JsxText || node.text.trim() !== "";
  const isList = node.kind === ts.SyntaxKind.SyntaxList;
  return isText && !isList && node.getWidth(source) > 0;
}

function isFunction(node) {
  return ts.isFunctionLike(node) && node.body !== undefined;
}

function linesOf(node, source) {
  const first = source.getLineAndCharacterOfPosition(node.getStart(source)).line;
  const last = source.getLineAndCharacterOfPosition(node.getEnd()).line;
  return last - first + 1;
}

function visit(node, source, found) {
  if (isFunction(node) && linesOf(node, source) > MOST_LINES) {
    const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
    found.long.push(
      `${linesOf(node, source)} ${source.fileName}:${line} ${node.name?.text ?? ""}`.trim(),
    );
  }
  const children = node.getChildren(source).filter((child) => !ts.isJSDoc(child));
  if (children.length === 0 && isToken(node, source)) {
    found.tokens += 1;
  }
  for (const child of children) {
    visit(child, source, found);
  }
}

function measure(path, found) {
  const text = readFileSync(join(SOURCES, path), "utf8");
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest);
  for (const line of text.split("\n")) {
    found.longest = Math.max(found.longest, line.length);
  }
  visit(source, source, found);
}

const found = { tokens: 0, longest: 0, long: [] };
for (const path of readdirSync(SOURCES, { recursive: true }).sort()) {
  if (/\.tsx?$/.test(path)) {
    measure(path, found);
  }
}
if (process.argv.includes("--worst")) {
  process.stdout.write(`${found.long.join("\n")}\n`);
} else {
  const figures = {
    "TypeScript tokens": found.tokens,
    "longest line of TypeScript": found.longest,
    "TypeScript functions over 60 lines": found.long.length,
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
}
