import type { TargetedEvent } from "preact";
import { useState } from "preact/hooks";
import { Popover } from "../core/popover";
import type * as P from "../core/protocol";

interface PasteProps {
  anchor: HTMLElement;
  place?: HTMLElement | null;
  field: P.FieldView;
  close: () => void;
  done: (text: string) => void;
}

/** A box for a column of a spreadsheet. */
export function Paste({ anchor, place = null, field, close, done }: PasteProps) {
  const [text, setText] = useState("");
  const onInput = ({ currentTarget }: TargetedEvent<HTMLTextAreaElement>) =>
    setText(currentTarget.value);
  const add = () => {
    close();
    if (text.trim()) done(text);
  };
  return (
    <Popover
      anchor={anchor}
      keep={place}
      close={close}
      role="dialog"
      label={`Paste a list for ${field.label}`}
      class="jf-form2"
      width={288}
      right={!place}
    >
      <h3>Paste a list for {field.label}</h3>
      <div class="jf-box">
        <textarea
          autofocus
          rows={6}
          data-jf={`paste-text:${field.name}`}
          aria-label="Values"
          placeholder="One value per line, as in a column of a spreadsheet"
          value={text}
          onInput={onInput}
        />
      </div>
      <div class="jf-acts">
        <button type="button" class="jf-btn" onClick={close}>
          Cancel
        </button>
        <button
          type="button"
          class="jf-btn is-main"
          data-jf={`paste-add:${field.name}`}
          onClick={add}
        >
          Add values
        </button>
      </div>
    </Popover>
  );
}
