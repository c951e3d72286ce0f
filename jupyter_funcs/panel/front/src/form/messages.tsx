import { Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { repaired } from "./fieldstate";

/** An error, or else a warning. */
export interface FieldMessage extends P.Message {
  isError: boolean;
}

const REQUIRED: P.Message = { text: "Required", use: "", instead: "" };

/** What is wrong with a field, and then what may be. */
export function messagesOf(state: P.FieldState, missing: boolean): FieldMessage[] {
  const { errors = [], warnings = [] } = state;
  const wrong = missing && !errors.length ? [REQUIRED] : errors;
  return [
    ...wrong.map((message) => ({ ...message, isError: true })),
    ...warnings.map((message) => ({ ...message, isError: false })),
  ];
}

interface MessagesProps {
  id: string;
  field: P.FieldView;
  state: P.FieldState;
  messages: FieldMessage[];
}

/** What is said of a value, with a button that fixes it. */
export function Messages({ id, field: { name }, state, messages }: MessagesProps) {
  const { set } = usePanel();
  return (
    <div id={id}>
      {messages.map((message) => (
        <div
          class={`jf-err ${message.isError ? "" : "is-warn"}`}
          data-jf={`${message.isError ? "error" : "warning"}:${name}`}
          role={message.isError ? "alert" : "status"}
        >
          <Icon name={message.isError ? "err" : "warn"} size={14} />
          <span>
            {message.text}{" "}
            {message.use && (
              <button
                type="button"
                data-jf={`fix:${name}`}
                onClick={() => set(name, repaired(state, message))}
              >
                {message.text.includes("Did you mean") ? "Use it" : `Use ${message.use}`}
              </button>
            )}
          </span>
        </div>
      ))}
    </div>
  );
}
