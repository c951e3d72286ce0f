/** The notebook that shows a panel, as far as its front end, JupyterLab or Notebook, lets it. */

import type { Model } from "./model";

interface Cell {
  id: string;
  source: string;
  setSource(source: string): void;
}

/** A part of Lab's shared model of a notebook. */
export interface Notebook {
  cells: Cell[];
  insertCell(at: number, cell: { cell_type: "code"; source: string }): Cell;
}

/** What a cell is to open a panel with. */
export interface Opening {
  /** The function and its values. */
  line: string;
  /** The variable of a run; "" only opens the form, unless the cell runs already. */
  output: string;
}

/** `null` elsewhere: what belongs into the notebook is copied there. */
export function notebookOf({ widget_manager }: Model): Notebook | null {
  const shared = widget_manager?.context?.model?.sharedModel;
  return typeof shared?.insertCell === "function" ? shared : null;
}

/** What may follow the values of a line. */
const OPTIONS = /^(\s+--?[a-z][a-z-]*(\s+[^\s=#-][^\s=]*)?)*(\s+#.*)?\s*$/;

/** Whether a cell runs or opens what this end of a line says; with a name, into that variable. */
export function says({ cells }: Notebook, line: string, name: string) {
  const saysIt = (text: string) => {
    const [before, after] = text.split(` ${line}`);
    if (!OPTIONS.test(after ?? "?")) return false;
    const output = / -o (\S+)/.exec(after) ?? /^\s*([^\s=]+)\s*=/.exec(before);
    return !name || output?.[1] === name;
  };
  return cells.some(({ source }) => source.split("\n").some(saysIt));
}

/** The last cell that each panel has inserted, by the panel's own cell. */
const inserted = new Map<string, string>();

/** Put code below the cell with this id, and below what was put there before; whether it is there. */
export function insertBelow(notebook: Notebook, id: string, source: string) {
  const places = [id, inserted.get(id)].map((known) =>
    notebook.cells.findIndex((cell) => cell.id === known),
  );
  if (places[0] < 0) return false;
  const cell = notebook.insertCell(Math.max(...places) + 1, { cell_type: "code", source });
  inserted.set(id, cell.id);
  return true;
}

/** Options of `%funcs panel` that have a value, and those that are written again. */
const VALUED = ["-o", "--output", "--timeout", "--profile"];
const REWRITTEN = ["-o", "--output", "--run", "--all"];
const LINE = /^(\s*(?:[^\s=]+\s*=\s*)?%funcs)(?:\s+panel(\s.*)?|(\s+[-#].*)?)$/;
const WORD = /(?:"(?:\\.|[^"\\])*"|'[^']*'|\[(?:"(?:\\.|[^"\\])*"|[^\]"])*\]|[^\s"'[])+/g;

/** A line that opens a panel, so that it opens it otherwise; its comment and other options stay. */
export function rewritten(text: string, { line, output }: Opening) {
  const [, opens, rest, options] = LINE.exec(text.trimEnd()) ?? [];
  const words: string[] = (rest ?? options ?? "").match(WORD) ?? [];
  const end = words.findIndex((word) => word.startsWith("#"));
  const comment = end < 0 ? [] : words.splice(end);
  const kept = words.filter((word, at) => {
    const option = VALUED.includes(words[at - 1]) ? words[at - 1] : word;
    return option.startsWith("-") && !REWRITTEN.includes(option.split("=")[0]);
  });
  const runs = output || words.includes("--run") ? ["--run"] : [];
  const named = output ? ["-o", output] : [];
  return [opens, "panel", line, ...kept, ...runs, ...named, ...comment].join(" ");
}

/** The variable that a cell's line names, if it names one. */
export const outputIn = (source = "") => / (?:-o|--output)[ =](\S+)/.exec(source)?.[1];

/** The source of a cell whose panel opens so; `null` unless exactly one of its lines opens a panel. */
export function updated({ cells }: Notebook, id: string, opening: Opening) {
  const lines = cells.find((cell) => cell.id === id)?.source.split("\n") ?? [];
  const [at, ...more] = lines.flatMap((text, at) => (LINE.test(text.trimEnd()) ? [at] : []));
  if (at === undefined || more.length || lines[at].endsWith("\\")) return null;
  return lines.with(at, rewritten(lines[at], opening)).join("\n");
}
