import type { TargetedEvent } from "preact";
import { useRef, useState } from "preact/hooks";
import { usePanel } from "../core/panelcontext";
import type { ControlProps } from "./control";

type TextElement = HTMLInputElement | HTMLTextAreaElement;

export type Typed = ReturnType<typeof useTyped>;

export const isVariable = (text: string) => text.startsWith("$");

/**
 * What is typed into a box. A text that isn't whole yet (`$na`, `2025-0`) stays here until Enter or
 * until the box is left.
 */
export function useTyped({ field, state }: ControlProps, isPart = isVariable) {
  const { set, submit, tell } = usePanel();
  const [draft, setDraft] = useState<string | null>(null);
  // Enter commits, and so does leaving the box right after it, before this is drawn again.
  const latest = useRef(draft);
  latest.current = draft;
  const begun = useRef("");

  const take = (text: string) => {
    setDraft(null);
    latest.current = null;
    set(field.name, text || null);
  };
  const commit = () => {
    if (latest.current === begun.current) setDraft(null);
    else if (latest.current !== null) take(latest.current);
  };
  /** Show a text to change, which isn't a value until it is. */
  const begin = (template: string) => {
    begun.current = template;
    setDraft(template);
  };
  const onInput = ({ currentTarget: { value } }: TargetedEvent<TextElement>) => {
    if (isPart(value)) setDraft(value);
    else take(value);
  };
  const onEnter = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.isComposing) return;
    commit();
    // With Ctrl, the panel's own key runs.
    if (event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    void tell(submit());
  };
  const text = draft ?? (typeof state.value === "string" ? state.value : "");
  return { text, take, begin, commit, onInput, onEnter };
}
