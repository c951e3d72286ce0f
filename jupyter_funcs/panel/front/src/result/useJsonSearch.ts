import { useEffect, useRef, useState } from "preact/hooks";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";

type Hits = P.Requests["json_find"]["out"] & { at: number };

const AFTER = 250; // milliseconds without a key

/** Search the reply for a text, one search at a time; `hits.at` is the one shown. */
export function useJsonSearch(run: number) {
  const { ask, tell } = usePanel();
  const [text, setText] = useState("");
  const [hits, setHits] = useState<Hits | null>(null);
  const turn = useRef<Promise<unknown>>(Promise.resolve());
  useEffect(() => {
    setHits(null);
    if (!text) return undefined;
    let current = true;
    const search = async () => {
      if (!current) return;
      const reply = ask("json_find", { run, text });
      await tell(reply.then((found) => current && setHits({ ...found, at: 0 })));
    };
    const timer = setTimeout(() => {
      turn.current = turn.current.then(search);
    }, AFTER);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [run, text]);
  const step = (by: number) => {
    const total = hits?.hits.length;
    if (total) setHits({ ...hits, at: (hits.at + by + total) % total });
  };
  return { text, setText, hits, step };
}
