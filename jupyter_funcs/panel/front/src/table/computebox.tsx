import type { RefObject, TargetedEvent } from "preact";
import { useRef, useState } from "preact/hooks";
import { Button } from "../core/icons";
import { Popover } from "../core/popover";
import { Trouble } from "../core/trouble";

interface ComputeBoxProps {
  anchor: HTMLElement;
  /** Of the columns that are there. */
  names: string[];
  /** Refused with what is wrong with the expression. */
  compute: (name: string, expression: string) => Promise<void>;
  close: () => void;
}

/** A name as an expression takes it. */
const quoted = (name: string) => (/^[A-Za-z_]\w*$/.test(name) ? name : `\`${name}\``);

/** Names shown to be picked. */
const MOST = 40;

const HELP = [
  "+ − × ÷, comparisons, and share(x), change(x, 4), rolling(x, 7), log(x), abs(x).",
  "Columns after these group the rows: change(Spend, 1, Symbol).",
].join(" ");

/** Ask for the name and the expression of a new column. */
export function ComputeBox({ anchor, names, compute, close }: ComputeBoxProps) {
  const [name, setName] = useState("");
  const [expression, setExpression] = useState("");
  const [trouble, setTrouble] = useState("");
  const box = useRef<HTMLInputElement>(null);

  const submit = (event: Event) => {
    event.preventDefault();
    const usual = expression.replaceAll("`", "").trim();
    compute(name.trim() || usual, expression).then(close, (error: Error) =>
      setTrouble(error.message),
    );
  };
  const add = (column: string) => {
    setExpression(`${expression.trimEnd()} ${quoted(column)} `.trimStart());
    box.current?.focus(); // what is typed next belongs to the expression
  };
  const typed =
    (set: (text: string) => void) =>
    ({ currentTarget: { value } }: TargetedEvent<HTMLInputElement>) => {
      set(value);
      setTrouble("");
    };
  return (
    <Popover anchor={anchor} close={close} label="Compute a column" role="dialog" width={360} right>
      <form class="jf-form2" onSubmit={submit}>
        <h3>Compute a column</h3>
        <Entry
          label="Expression"
          box={box}
          hook="compute-expression"
          hint="Spend / `Transaction Count`"
          value={expression}
          onInput={typed(setExpression)}
        />
        <Names names={names} add={add} />
        <p class="jf-quiet">{HELP}</p>
        <Entry
          label="Name"
          hook="compute-name"
          hint="As the expression"
          value={name}
          onInput={typed(setName)}
        />
        <Trouble text={trouble} />
        <button type="submit" class="jf-btn is-main" data-jf="compute-now">
          Add column
        </button>
      </form>
    </Popover>
  );
}

const Names = ({ names, add }: { names: string[]; add: (column: string) => void }) => (
  <div class="jf-quick jf-names" role="group" aria-label="Columns">
    {names.slice(0, MOST).map((column) => (
      <Button
        key={column}
        kind="is-line"
        label={column}
        data-jf={`compute-column:${column}`}
        onClick={() => add(column)}
      />
    ))}
  </div>
);

interface EntryProps {
  label: string;
  box?: RefObject<HTMLInputElement>;
  hook: string;
  hint: string;
  value: string;
  onInput: (event: TargetedEvent<HTMLInputElement>) => void;
}

const Entry = ({ label, box, hook, hint, value, onInput }: EntryProps) => (
  <label>
    {label}
    <div class="jf-box">
      <input
        ref={box}
        data-jf={hook}
        spellcheck={false}
        autocomplete="off"
        maxlength={1000}
        placeholder={hint}
        value={value}
        onInput={onInput}
      />
    </div>
  </label>
);
