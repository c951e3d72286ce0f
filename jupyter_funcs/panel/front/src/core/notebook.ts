/** The notebook that shows a panel, as far as its front end, JupyterLab or Notebook, lets it. */

import type { Model } from "./model";

/** A part of Lab's shared model of a notebook. */
export interface Notebook {
  cells: { id: string; source: string; setSource(source: string): void }[];
  insertCell(at: number, cell: { cell_type: "code"; source: string }): unknown;
}

/** `null` elsewhere: what belongs into the notebook is copied there. */
export function notebookOf({ widget_manager }: Model): Notebook | null {
  const shared = widget_manager?.context?.model?.sharedModel;
  return typeof shared?.insertCell === "function" ? shared : null;
}

/** Whether a cell runs or opens what this end of a line says. */
export const says = ({ cells }: Notebook, line: string) =>
  cells.some(({ source }) => `${source}\n`.replace(/ --run(?=\n)/g, "").includes(` ${line}\n`));

/** Put code into a new cell below the one with this id; whether that is there. */
export function insertBelow(notebook: Notebook, id: string, source: string) {
  const at = notebook.cells.findIndex((cell) => cell.id === id);
  if (at < 0) return false;
  notebook.insertCell(at + 1, { cell_type: "code", source });
  return true;
}

/** The line of a cell that opens a panel: what comes before, and which options it may end with. */
const OPENS = /^(\s*(?:\w+\s*=\s*)?%funcs)(\s+panel\s((?!\s--?[a-z]).)*)?((\s--run)?)\s*$/m;

/** The source of a cell whose panel opens as `line` says; `null` if its one line isn't plain. */
export function updated({ cells }: Notebook, id: string, line: string) {
  const source = cells.find((cell) => cell.id === id)?.source ?? "";
  if (source.split("%funcs").length !== 2 || !OPENS.test(source)) return null;
  return source.replace(
    OPENS,
    (_, opens, _words, _last, options) => `${opens} panel ${line}${options}`,
  );
}
