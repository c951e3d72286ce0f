import type { ComponentChildren, InputHTMLAttributes } from "preact";
import { type ControlProps, inputAttributes } from "./control";
import { type Typed, useTyped } from "./useTyped";

interface EntryProps extends InputHTMLAttributes {
  of: ControlProps;
  typed: Typed;
  children?: ComponentChildren;
}

/** A box to type in, and what is beside it. */
export function Entry({ of, typed, children, ...rest }: EntryProps) {
  return (
    <div class="jf-box">
      <input
        {...inputAttributes(of)}
        value={typed.text}
        placeholder={of.field.hint}
        onInput={typed.onInput}
        onBlur={typed.commit}
        onKeyDown={typed.onEnter}
        {...rest}
      />
      {children}
    </div>
  );
}

export const TextBox = (props: ControlProps) => <Entry of={props} typed={useTyped(props)} />;
