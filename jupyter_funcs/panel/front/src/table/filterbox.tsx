import { useLayoutEffect } from "preact/hooks";
import { Button } from "../core/icons";
import { Popover } from "../core/popover";
import type * as P from "../core/protocol";
import { useReply } from "../core/useReply";
import { isDate, isNumber } from "./columns";
import { RangeBox } from "./rangebox";
import { useLateFilter } from "./useLateFilter";
import { ValuesBox } from "./valuesbox";

interface FilterBoxProps {
  anchor: HTMLElement;
  column: P.ColumnView;
  filter: P.Filter | undefined;
  /** "7,710 of 10,956 rows" */
  found: string;
  run: number;
  /** What the table shows. */
  query: P.TableQuery;
  /** Refused with what is wrong with the filter. */
  apply: (filter: P.Filter | null) => Promise<void>;
  widen: (by: number) => void;
  move: (by: number) => void;
  isPinned: boolean;
  pin: () => void;
  hide: () => void;
  close: () => void;
}

/** The box under a column's funnel: a range of numbers or dates, or values and a text. */
export function FilterBox(props: FilterBoxProps) {
  const { anchor, column, filter, found, run, apply, close } = props;
  const { form, wrong, say, forget, put } = useLateFilter(apply);
  useLayoutEffect(() => form.current?.querySelector("input")?.focus({ preventScroll: true }), []);

  /** A date such as the 31st of June has no value: without a word it would be no filter. */
  const refuse = (event: Event) => {
    const { validity } = event.target as HTMLInputElement;
    if (!validity?.badInput) return false;
    forget();
    say("Enter a valid date, or clear the field.");
    return true;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const isBox = (event.target as HTMLElement).matches("input");
    if (event.key !== "Enter" || !isBox || refuse(event)) return;
    event.preventDefault(); // else Enter presses the funnel, which has the focus then
    close();
  };
  const onFocusIn = ({ target }: Event) => (target as HTMLInputElement).select?.();
  const remove = () => {
    put(null, 0);
    close();
  };
  const head = anchor.closest<HTMLElement>(".jf-th");
  const isRange = isNumber(column) || isDate(column);
  return (
    <Popover
      anchor={anchor}
      close={close}
      under={head}
      role="dialog"
      label={`Filter ${column.name}`}
      width={isDate(column) ? 328 : 288}
      right={(head?.offsetLeft ?? 0) > 160}
      onKeyDown={onKeyDown}
    >
      <div class="jf-form2" ref={form} onInput={refuse} onFocusOut={refuse} onFocusIn={onFocusIn}>
        <ColumnTools {...props} />
        <Said column={column} />
        <Described {...props} />
        {isRange && <RangeBox column={column} filter={filter} put={put} />}
        {!isRange && <ValuesBox column={column} filter={filter} run={run} put={put} />}
        {wrong && (
          <p class="jf-err" role="alert">
            {wrong}
          </p>
        )}
      </div>
      <div class="jf-pf">
        <span class="jf-num" aria-live="polite">
          {found}
        </span>
        <span class="jf-gap" />
        <Button kind="is-link" label="Remove filter" data-jf="filter-remove" onClick={remove} />
      </div>
    </Popover>
  );
}

/** What the catalog says of the column. */
function Said({ column: { name, said } }: Pick<FilterBoxProps, "column">) {
  if (!said) return null;
  return (
    <p class="jf-said" data-jf={`said:${name}`}>
      {said}
    </p>
  );
}

/** How many values of the column the table shows, and their range. */
function Described({ column: { at, name }, run, query }: FilterBoxProps) {
  const [reply] = useReply("described", { run, at, query }, [run, JSON.stringify(query)]);
  return (
    <dl class="jf-described jf-num" data-jf={`described:${name}`}>
      {reply?.facts.map(([fact, brief, exact]) => (
        <div key={fact} title={exact}>
          <dt>{fact}</dt>
          <dd>{brief}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The name of the column, its width and place, and hiding it. */
function ColumnTools(props: FilterBoxProps) {
  const { widen, move, isPinned, pin, hide, close } = props;
  const { name } = props.column;
  const away = () => {
    close();
    hide();
  };
  return (
    <header>
      <h3>{name}</h3>
      <span class="jf-gap" />
      <Button
        icon="pin"
        fill={isPinned}
        aria="Pin to the left"
        aria-pressed={isPinned}
        data-jf={`pin:${name}`}
        onClick={pin}
      />
      <Button icon="back" aria="Move left" data-jf={`left:${name}`} onClick={() => move(-1)} />
      <Button icon="forth" aria="Move right" data-jf={`right:${name}`} onClick={() => move(1)} />
      <Button icon="minus" aria="Narrower" data-jf={`narrower:${name}`} onClick={() => widen(-1)} />
      <Button icon="plus" aria="Wider" data-jf={`wider:${name}`} onClick={() => widen(1)} />
      <Button kind="is-link" label="Hide" data-jf={`hide:${name}`} onClick={away} />
    </header>
  );
}
