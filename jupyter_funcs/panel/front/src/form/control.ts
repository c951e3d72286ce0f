import type * as P from "../core/protocol";

export interface ControlProps {
  field: P.FieldView;
  state: P.FieldState;
  /** Of the control; its label's is `${id}l`, and its messages' `${id}e`. */
  id: string;
  describe: string | undefined;
  bad: boolean;
}

/** What every control says of itself. */
export const inputAttributes = ({ field, id, describe, bad }: ControlProps) => ({
  id,
  autocomplete: "off",
  spellcheck: false,
  "aria-invalid": bad ? ("true" as const) : undefined,
  "aria-describedby": describe,
  "aria-required": field.required ? ("true" as const) : undefined,
});
