import type { TargetedEvent } from "preact";
import { useState } from "preact/hooks";
import { usePanel } from "../core/panelcontext";
import { type ControlProps, inputAttributes } from "./control";
import { several } from "./fieldstate";

/** Several lists or JSON values, a line each. */
export function Lines(props: ControlProps) {
  const { field, state } = props;
  const { set } = usePanel();
  const [draft, setDraft] = useState<string | null>(null);
  const onInput = ({ currentTarget: { value } }: TargetedEvent<HTMLTextAreaElement>) => {
    setDraft(value);
    set(field.name, { each: value.split("\n") });
  };
  const isJson = field.control === "json" || field.parts;
  return (
    <div class="jf-box">
      <textarea
        {...inputAttributes(props)}
        rows={3}
        value={draft ?? several(state).join("\n")}
        placeholder={isJson ? "One JSON value per line" : "One list per line, with commas"}
        onInput={onInput}
        onBlur={() => setDraft(null)}
      />
    </div>
  );
}
