import { insertBelow, notebookOf, says } from "./notebook";
import { usePanel } from "./panelcontext";

/** The notebook around a panel, and what puts code into it. */
export function useNotebook() {
  const { channel, view, values, run, ask, copy, toast } = usePanel();
  const { result } = run;
  const { line = "", runs = 1, changed = true } = values ?? {};
  const notebook = view?.trusted ? notebookOf(channel.model) : null;
  /** The form has the values of the result. */
  const hasRun = result !== null && !changed && !run.running;
  const variable = result?.variable || result?.lost || "df";

  /** The run of the form as code. */
  const call = async () => {
    if (line) return `${variable} = %funcs ${runs > 1 ? "sweep" : "call"} ${line}`;
    const { blocks } = await ask("code", {});
    return blocks.find(({ name }) => name === "python")?.code ?? "";
  };
  /** Put code below the panel's cell; whether it is there, and not copied. */
  const insert = async (source: string, told: string) => {
    const isThere = notebook && view && insertBelow(notebook, view.cell.id, source);
    if (isThere) toast(told);
    else await copy(source);
    return isThere;
  };
  /** Put code of the result there, after the run itself unless another cell has that. */
  const insertCode = async (code: string) => {
    const isAlone = !hasRun || !line || (notebook && says(notebook, line, variable));
    await insert(isAlone ? code : `${await call()}\n${code}`, "Inserted below.");
  };
  return { notebook, hasRun, variable, call, insert, insertCode };
}
