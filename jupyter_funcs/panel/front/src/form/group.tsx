import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { useUniqueId } from "../core/useUniqueId";
import { Field, type FieldProps, Required } from "./field";
import { FieldTools } from "./fieldmenu";
import { Messages, messagesOf } from "./messages";
import { isWithin, moved, rowsOf } from "./parts";

/** An object: a heading, and its parts while it is open. */
export function Group({ field, red, onHelp }: FieldProps) {
  const { values } = usePanel();
  const id = useUniqueId();
  const [chosen, setChosen] = useState<boolean | null>(null);
  const state = values?.fields[field.name] ?? {};
  const rows = rowsOf(state);
  const isWrong = [...red, ...(values?.wrong ?? [])].some((name) => isWithin(field, name));
  const isOpen = isWrong || (chosen ?? (field.required || rows > 0));
  const messages = messagesOf(state, red.includes(field.name));
  const help = field.brief || field.help;
  return (
    <div
      class={`jf-field jf-group ${messages.length ? "is-bad" : ""}`}
      role="group"
      aria-labelledby={`${id}l`}
      data-jf={`field:${field.name}`}
    >
      <div class="jf-label" onFocusIn={() => onHelp(null)}>
        <Heading field={field} id={id} isOpen={isOpen} open={setChosen} />
        <FieldTools field={field} state={state} onOther={() => {}} />
      </div>
      {messages.length > 0 && (
        <Messages id={`${id}e`} field={field} state={state} messages={messages} />
      )}
      {isOpen && (
        <div class="jf-parts">
          {help && <p class="jf-about">{help}</p>}
          {field.control === "rows" ? (
            <Rows field={field} rows={rows} red={red} onHelp={onHelp} />
          ) : (
            <Parts parts={field.parts} red={red} onHelp={onHelp} />
          )}
        </div>
      )}
    </div>
  );
}

interface HeadingProps {
  field: P.FieldView;
  id: string;
  isOpen: boolean;
  open: (isOpen: boolean) => void;
}

/** The name of an object, which shows its parts or folds them. */
function Heading({ field: { name, label, required }, id, isOpen, open }: HeadingProps) {
  return (
    <div class="jf-named">
      <button
        type="button"
        id={`${id}l`}
        class="jf-opener"
        data-jf={`open:${name}`}
        aria-expanded={isOpen}
        onClick={() => open(!isOpen)}
      >
        <Icon name="right" size={14} />
        {label}
        {required && <Required />}
      </button>
    </div>
  );
}

type PartsProps = Omit<FieldProps, "field"> & { parts: P.FieldView[] | undefined };

const Parts = ({ parts = [], ...rest }: PartsProps) => (
  <>
    {parts.map((part) => (
      <Field key={part.name} field={part} {...rest} />
    ))}
  </>
);

/** The objects of a list, each with its parts. */
function Rows({ field, rows, red, onHelp }: FieldProps & { rows: number }) {
  const { ask, tell } = usePanel();
  const box = useRef<HTMLDivElement>(null);
  const drawn = useRef(rows);
  useLayoutEffect(() => {
    const isChanged = drawn.current !== rows && box.current?.contains(document.activeElement);
    const first = rows > drawn.current ? ".jf-row:nth-last-of-type(1) :is(input, textarea)" : "";
    drawn.current = rows;
    if (isChanged) box.current?.querySelector<HTMLElement>(first || ".jf-add")?.focus();
  }, [rows]);
  const change = (at: number | null) => void tell(ask("row", { field: field.name, at }));
  return (
    <div ref={box} class="jf-rows">
      {Array.from({ length: rows }, (_, at) => (
        <Row key={at} field={field} at={at} red={red} onHelp={onHelp} remove={() => change(at)} />
      ))}
      <button
        type="button"
        class="jf-more jf-add"
        data-jf={`add:${field.name}`}
        aria-label={`Add to ${field.label}`}
        onClick={() => change(null)}
      >
        <Icon name="plus" size={14} />
        Add
      </button>
    </div>
  );
}

interface RowProps extends FieldProps {
  at: number;
  remove: () => void;
}

function Row({ field, at, red, onHelp, remove }: RowProps) {
  const name = `${field.label} ${at + 1}`;
  const parts = moved(field.parts, `${field.name}[]`, `${field.name}.${at}`);
  return (
    <div class="jf-row" role="group" aria-label={name} data-jf={`row:${field.name}.${at}`}>
      <div class="jf-rowhead">
        <span class="jf-quiet jf-num">{at + 1}</span>
        <button
          type="button"
          class="jf-mini"
          data-jf={`remove-row:${field.name}.${at}`}
          aria-label={`Remove ${name}`}
          onClick={remove}
        >
          <Icon name="x" size={14} />
        </button>
      </div>
      <Parts parts={parts} red={red} onHelp={onHelp} />
    </div>
  );
}
