import type { TargetedEvent } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../core/icons";
import { NameForm } from "../core/nameform";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { useNotebook } from "../core/useNotebook";

interface AsVariableProps {
  result: P.ResultView;
  off: boolean;
  /** Of the name that is proposed. */
  ending: string;
}

/** Gives what the table shows to a variable of the notebook. */
export function AsVariable({ result, off, ending }: AsVariableProps) {
  const [anchor, open] = useState<HTMLElement | null>(null);
  const { ask, query, toast, view } = usePanel();
  const { notebook } = useNotebook();
  const save = async (name: string, replace: boolean) => {
    const { said, exists } = await ask("assign", { run: result.number, query, name, replace });
    if (exists) return name;
    open(null);
    const how = notebook ? "Insert cell keeps" : "Copy and a new cell keep";
    toast(`${said} It ends with the kernel: in View as code, ${how} it in the notebook.`);
    return "";
  };
  return (
    <>
      <Button
        kind="is-link is-first"
        label="As variable"
        data-jf="assign"
        aria-haspopup="dialog"
        aria-expanded="false"
        disabled={off || !view?.trusted}
        onClick={({ currentTarget }: TargetedEvent<HTMLElement>) =>
          open(anchor ? null : currentTarget)
        }
      />
      {anchor && !off && (
        <NameForm
          anchor={anchor}
          close={() => open(null)}
          title="As variable"
          label="Variable of the notebook"
          hook="assign"
          start={`${result.variable || result.lost || "result"}_${ending}`}
          taken={[]}
          save={save}
        />
      )}
    </>
  );
}
