import type { TargetedEvent } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { count } from "../core/format";
import { Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import type { Put } from "./useLateFilter";

type Page = P.Requests["values"]["out"];
type Value = Page["values"][number];

/** Milliseconds at rest after which values are searched. */
const SEARCH_AFTER = 150;

interface ValuesBoxProps {
  column: P.ColumnView;
  filter?: P.Filter;
  run: number;
  put: Put;
}

/** The values of a column to choose from, or a text that they contain. */
export function ValuesBox({ column: { at }, filter, run, put }: ValuesBoxProps) {
  const [typed, setTyped] = useState(filter?.kind === "text" ? filter.text : "");
  const [chosen, setChosen] = useState<Value["text"][]>(
    filter?.kind === "values" ? filter.values : [],
  );
  const { values, total } = useValues(run, at, typed);

  const apply = (values: Value["text"][], text: string, wait?: number) => {
    if (values.length) put({ at, kind: "values", values }, wait);
    else put(text ? { at, kind: "text", text } : null, wait);
  };
  const onInput = ({ currentTarget: { value } }: TargetedEvent<HTMLInputElement>) => {
    setTyped(value);
    setChosen([]);
    apply([], value);
  };
  const toggle = (text: Value["text"]) => {
    const others = chosen.filter((other) => other !== text);
    const next = others.length < chosen.length ? others : [...chosen, text];
    setChosen(next);
    apply(next, typed, 0);
  };
  return (
    <>
      <div class="jf-box">
        <input
          aria-label="Contains"
          placeholder="Contains…"
          data-jf="filter-text"
          value={typed}
          onInput={onInput}
        />
      </div>
      <div class="jf-list jf-values" role="group" aria-label="Values">
        {values.map((value) => (
          <Choice
            key={value.text ?? "\0"}
            value={value}
            isChosen={chosen.includes(value.text)}
            toggle={toggle}
          />
        ))}
        {total > values.length && (
          <p class="jf-quiet">{count(total)} values; type to find others.</p>
        )}
      </div>
    </>
  );
}

/** The values that contain a text, the most frequent first. */
function useValues(run: number, at: number, query: string): Page {
  const { ask, tell } = usePanel();
  const [page, setPage] = useState<Page>({ values: [], total: 0 });
  useLayoutEffect(() => {
    let isStale = false;
    const search = () => {
      const reply = ask("values", { run, at, query });
      void tell(reply.then((next) => isStale || setPage(next)));
    };
    const timer = setTimeout(search, query ? SEARCH_AFTER : 0);
    return () => {
      isStale = true;
      clearTimeout(timer);
    };
  }, [query]);
  return page;
}

interface ChoiceProps {
  value: Value;
  isChosen: boolean;
  toggle: (text: Value["text"]) => void;
}

function Choice({ value: { text, count: rows }, isChosen, toggle }: ChoiceProps) {
  return (
    <button
      type="button"
      class="jf-opt"
      role="checkbox"
      aria-checked={isChosen}
      data-jf={`value:${text ?? ""}`}
      onClick={() => toggle(text)}
    >
      <span class="jf-check">
        <Icon name="check" size={12} />
      </span>
      <span class={`jf-name1 ${text ? "" : "is-none"}`}>{text ?? "Empty"}</span>
      <span class="jf-quiet jf-num">{count(rows)}</span>
    </button>
  );
}
