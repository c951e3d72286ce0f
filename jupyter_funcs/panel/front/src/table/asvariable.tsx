import { NameForm } from "../core/nameform";
import { Opener } from "../core/opener";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { useNotebook } from "../core/useNotebook";
import type { GridState } from "./useGrid";

interface AsVariableProps {
  grid: GridState;
  result: P.ResultView;
  /** Of the name that is proposed. */
  ending: string;
}

/** Gives what the table shows to a variable of the notebook, and shows the code that repeats it. */
export function AsVariable({ grid: { off, code }, result, ending }: AsVariableProps) {
  const { ask, query, toast, view } = usePanel();
  const { notebook } = useNotebook();
  const save = (close: () => void) => async (name: string, replace: boolean) => {
    const { said, exists } = await ask("assign", { run: result.number, query, name, replace });
    if (exists) return name;
    close();
    code.show();
    toast(`${said} ${notebook ? "Insert cell" : "Copy"} keeps its code, for when the kernel ends.`);
    return "";
  };
  return (
    <Opener
      kind="is-link"
      label="As variable"
      data-jf="assign"
      opens="dialog"
      disabled={off || !view?.trusted}
      draw={(anchor, close) => (
        <NameForm
          anchor={anchor}
          close={close}
          title="As variable"
          label="Variable of the notebook"
          hook="assign"
          start={`${result.variable || result.lost || "result"}_${ending}`}
          taken={[]}
          save={save(close)}
        />
      )}
    />
  );
}
