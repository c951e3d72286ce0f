import { useEffect, useState } from "preact/hooks";
import type * as P from "./protocol";

/**
 * Whether a narrow panel's form is one line of chips: once there is a result, and while it is
 * awaited.
 */
export function useFold(
  run: P.Run,
  chosen: string | undefined,
  isFoldedAtFirst: boolean,
  announce: (text: string) => void,
) {
  const [folded, fold] = useState(isFoldedAtFirst);
  const hasResult = run.result !== null;
  useEffect(() => fold(hasResult), [chosen, run.result?.number ?? 0]);
  useEffect(() => {
    if (run.state === "running") fold(true);
    else if (run.error) fold(hasResult);
    else if (run.result) announce(run.result.summary);
  }, [run.state, run.number]);
  return { folded, fold };
}
