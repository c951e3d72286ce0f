import { useState } from "preact/hooks";
import { Icon } from "../core/icons";
import { insertBelow, notebookOf, says, updated } from "../core/notebook";
import { usePanel } from "../core/panelcontext";

/** Where the result is, if not where the one before was; and what isn't in the notebook. */
export function Kept() {
  const { variable, note } = usePanel().run.result ?? {};
  return (
    <>
      {variable && note && (
        <p class="jf-missing is-soft jf-unsaved" role="status" data-jf="var-note">
          <Icon name="info" size={14} />
          <span>{note}</span>
        </p>
      )}
      <Unsaved />
    </>
  );
}

/** A run or a form that the notebook doesn't repeat, and how to put it there. */
function Unsaved() {
  const { channel, view, values, run, live, ask, tell, copy, toast } = usePanel();
  // Of a run whose code has no line to look for.
  const [inserted, setInserted] = useState(0);
  const { result } = run;
  if (!view?.trusted || !values?.differs || live === "gone") return null;
  const { id, names } = view.cell;
  const { line, runs, changed } = values;
  const hasRun = result !== null && !changed && !run.running;
  const isNamed = names && line !== "";
  const notebook = notebookOf(channel.model);
  const isThere = line ? notebook && says(notebook, line) : result?.number === inserted;
  if (isThere || !(isNamed || hasRun)) return null;

  const call = async () => {
    const variable = result?.variable || "df";
    if (line) return `${variable} = %funcs ${runs > 1 ? "sweep" : "call"} ${line}`;
    const { blocks } = await ask("code", {});
    return blocks.find(({ name }) => name === "python")?.code ?? "";
  };
  const insert = async () => {
    const source = await call();
    if (!notebook || !insertBelow(notebook, id, source)) return copy(source);
    setInserted(result?.number ?? 0);
    toast("Inserted below. Run the cell to have the variable in its own right.");
  };
  const source = isNamed && notebook && updated(notebook, id, line);
  const update = () => {
    notebook?.cells.find((cell) => cell.id === id)?.setSource(source || "");
    toast("Updated. Run All opens the panel with these values.");
  };
  const link = (label: string, hook: string, act: () => unknown) => (
    <button type="button" data-jf={hook} onClick={() => void act()}>
      {label}
    </button>
  );
  return (
    <p class="jf-missing is-soft jf-unsaved" role="status" data-jf="unsaved">
      <Icon name="code" size={14} />
      <span>
        {isNamed ? "The form differs from this cell: " : "This run isn't in the notebook: "}
        {source && <>{link("Update cell", "cell-update", update)} · </>}
        {hasRun && notebook && <>{link("Insert cell", "cell-insert", () => tell(insert()))} · </>}
        {link("Copy", "cell-copy", async () =>
          copy(isNamed ? `%funcs panel ${line}` : await call()),
        )}
      </span>
    </p>
  );
}
