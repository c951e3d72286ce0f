import { useState } from "preact/hooks";
import { Icon } from "../core/icons";
import { outputIn, rewritten, says, updated } from "../core/notebook";
import { usePanel } from "../core/panelcontext";
import { useNotebook } from "../core/useNotebook";

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
  const { view, values, run, live, ask, tell, copy, toast } = usePanel();
  const { notebook, hasRun, variable, call, insert } = useNotebook();
  // Of a run whose code has no line to look for.
  const [inserted, setInserted] = useState(0);
  if (!view?.trusted || !values?.differs || live === "gone") return null;
  const { id, names } = view.cell;
  const { line, output } = values;
  const isNamed = names && line !== "";
  const isThere = line ? notebook && says(notebook, line, output) : run.result?.number === inserted;
  if (isThere || !(isNamed || hasRun)) return null;

  const runs = hasRun && !view.function?.changesData;
  const opening = { line, output: runs ? variable : "" };
  const source = line && notebook && updated(notebook, id, opening);
  const add = async () => {
    const told = "Inserted below. Run the cell to have the variable in its own right.";
    if (await insert(await call(), told)) setInserted(run.result?.number ?? 0);
  };
  const update = async () => {
    const cell = notebook?.cells.find((cell) => cell.id === id);
    const before = outputIn(cell?.source);
    cell?.setSource(source || "");
    const does = runs ? `runs it again, into ${variable}` : "opens the panel with these values";
    const loses = before && before !== opening.output && `, and no longer makes ${before}`;
    toast(`Updated. Run All ${does}${loses || ""}.`);
    await ask("update_cell", { output: opening.output });
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
        {source && <>{link("Update cell", "cell-update", () => tell(update()))} · </>}
        {hasRun && notebook && <>{link("Insert cell", "cell-insert", () => tell(add()))} · </>}
        {link("Copy", "cell-copy", async () =>
          copy(isNamed ? rewritten("%funcs", opening) : await call()),
        )}
      </span>
    </p>
  );
}
