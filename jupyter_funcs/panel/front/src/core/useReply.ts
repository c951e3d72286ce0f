import { useEffect, useState } from "preact/hooks";
import { usePanel } from "./panelcontext";
import type * as P from "./protocol";

type Reply<K extends keyof P.Requests> = P.Requests[K]["out"];

/**
 * What the kernel answers to a request, or why it doesn't; it is sent again when something changes.
 */
export function useReply<K extends keyof P.Requests>(
  kind: K,
  fields: P.Requests[K]["in"],
  changes: unknown[],
): [Reply<K> | null, string] {
  const { ask, live } = usePanel();
  const [answer, setAnswer] = useState<[Reply<K> | null, string]>([null, ""]);
  useEffect(() => {
    if (live === "gone") return undefined;
    let isCurrent = true;
    ask(kind, fields).then(
      (reply) => isCurrent && setAnswer([reply, ""]),
      (error: Error) => isCurrent && setAnswer([null, error.message]),
    );
    return () => {
      isCurrent = false;
    };
  }, changes);
  return answer;
}
