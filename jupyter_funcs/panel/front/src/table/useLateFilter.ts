import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";

/** Milliseconds at rest after which what was typed is applied. */
export const TYPING = 250;

export type Put = (filter: P.Filter | null, wait?: number) => void;

const nothing = () => {};

/** Apply a filter once nothing was typed for a moment, and say what is wrong with it. */
export function useLateFilter(apply: (filter: P.Filter | null) => Promise<void>) {
  const { toast } = usePanel();
  const [wrong, setWrong] = useState("");
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const form = useRef<HTMLDivElement>(null);
  /** Applies what is typed and not applied yet. */
  const late = useRef<() => void>(nothing);

  /** Beside what is typed, or in the panel if the box is closed by then. */
  const say = (text: string) => {
    if (form.current) setWrong(text);
    else toast(text);
  };
  const forget = () => {
    late.current = nothing;
  };
  const put: Put = (next, wait = TYPING) => {
    clearTimeout(timer.current);
    late.current = () => {
      forget();
      apply(next).then(
        () => setWrong(""),
        (error: Error) => say(error.message),
      );
    };
    timer.current = setTimeout(() => late.current(), wait);
  };
  useLayoutEffect(() => () => late.current(), []);
  return { form, wrong, say, forget, put };
}
