import { useLayoutEffect, useState } from "preact/hooks";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";

/** The view as pandas code, while it is open. */
export function useCode(run: number, query: P.TableQuery, off: boolean) {
  const { ask, tell } = usePanel();
  const [code, setCode] = useState<string | null>(null);
  const [turn, setTurn] = useState(0);
  const isOpen = code !== null;
  useLayoutEffect(() => {
    if (!isOpen || off) return;
    let isStale = false;
    const reply = ask("table_code", { run, query }).then(({ code }) => isStale || setCode(code));
    void tell(reply);
    return () => {
      isStale = true;
    };
  }, [isOpen, turn, JSON.stringify(query)]);
  return {
    code,
    isOpen,
    toggle: () => setCode(isOpen ? null : ""),
    show: () => {
      setCode(code ?? "");
      setTurn(turn + 1);
    },
  };
}
