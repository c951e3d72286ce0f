import { useLayoutEffect, useState } from "preact/hooks";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { ALL } from "../core/query";
import { fitted, type Shape, unseen } from "../core/useSeen";

/** With the last columns in sight. */
const LAST = { top: 0, left: 1e6 };

const keyOf = (run: number, steps: P.Step[]) => JSON.stringify([run, steps]);

/** The table of a result, as it is or as steps make it; `null` until it is here. */
export function useShape(result: P.ResultView) {
  const { ask, seen, adopt, isNew, shaped, live } = usePanel();
  const { number: run, table } = result;
  const { steps } = seen;
  const key = keyOf(run, steps);
  const [, setKey] = useState("");
  const isGone = live === "gone";
  const shape = steps.length ? undefined : { table, pivot: null };
  const known = shape ?? (shaped.current?.[0] === key ? shaped.current[1] : null);

  useLayoutEffect(() => {
    let isStale = false;
    const take = (next: Shape) => {
      if (isStale) return;
      shaped.current = [key, next];
      if (isNew) adopt(fitted(seen, run, next.table));
      setKey(key);
    };
    const refuse = (error: Error) => {
      if (!isStale) adopt({ ...unseen(result), note: error.message });
    };
    if (known) take(known);
    else if (!isGone) ask("shape", { run, steps }).then(take, refuse);
    return () => {
      isStale = true;
    };
  }, [key, isGone]);
  return isNew ? null : known && { ...known, key: `${key}${seen.turn}` };
}

/** What changes the steps; refused with what is wrong with them. */
export function useSteps(result: P.ResultView) {
  const { ask, seen, adopt, shaped } = usePanel();
  const { number: run } = result;
  const { steps, query } = seen;
  const last = steps.at(-1);
  const now = last?.kind === "pivot" ? last : null;

  const change = async (next: P.Step[], more: Partial<typeof seen> = {}) => {
    const shape = await ask("shape", { run, steps: next });
    shaped.current = [keyOf(run, next), shape];
    adopt({ ...fitted(seen, run, shape.table), ...more, steps: next });
  };
  return {
    steps,
    pivot: (wish: P.PivotWish) => {
      const before = now ? steps.slice(0, -1) : steps;
      const { of = { ...query, sort: [] }, ...chosen } = now ?? {};
      const step = { ...chosen, ...wish, kind: "pivot" as const, of };
      return change([...before, step], now ? {} : { query: ALL });
    },
    points: (points: P.ChartPoints) =>
      change([...steps, { kind: "points", ...points }], { query: ALL }),
    unpivot: () => change(steps.slice(0, -1), { query: now?.of ?? ALL, note: "" }),
    compute: (name: string, expression: string) =>
      change([...steps, { kind: "column", name, expression }], { place: LAST }),
    remove: (step: P.Step) =>
      change(
        steps.filter((other) => other !== step),
        step.kind === "points" ? { query: step.of, note: "" } : {},
      ),
    reset: () => adopt({ ...unseen(result), turn: seen.turn + 1 }),
  };
}
