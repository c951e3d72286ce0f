import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { minus } from "../chart/scales";
import { count } from "../core/format";
import { Button, Icon } from "../core/icons";
import { Popover } from "../core/popover";
import type * as P from "../core/protocol";
import { usePanel } from "../core/state";
export type Value = { text: string | null; count: number };

const NUMBERS = new Set(["money", "count", "number", "percent"]);

/** Numbers are aligned right, and sorted from the largest first. */
export const isNumber = (column?: P.ColumnView) => NUMBERS.has(column?.type ?? "");

const isDate = (column: P.ColumnView) => column.type === "date" || column.type === "datetime";

/** "0%", "<1%", "20%". */
export const percent = (share: number) =>
  share === 0 ? "0%" : share < 0.01 ? "<1%" : `${Math.round(share * 100)}%`;

/** A shown or typed number as a number. */
const parsed = (text: string) =>
  text.trim() ? Number(text.replaceAll("−", "-").replace(/[,\s%+]/g, "")) : NaN;

/** What a filter says: "Spend ≥ 400,000". */
export function filterText(filter: P.Filter, column?: P.ColumnView) {
  const name = column?.name ?? "";
  if (filter.kind === "text") return `${name} contains “${filter.text}”`;
  if (filter.kind === "range") {
    const grouped = (text: string) =>
      isNumber(column)
        ? minus(text.replace(/(?<=^[+−-]?)\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ",")))
        : text;
    const [low, high] = [filter.low, filter.high].map(
      (each) =>
        each.trim() &&
        grouped(each.trim()) + (column?.type === "percent" && !each.includes("%") ? "%" : ""),
    );
    return low && high
      ? `${name} ${low} to ${high}`
      : low
        ? `${name} ≥ ${low}`
        : `${name} ≤ ${high}`;
  }
  const [one, two] = filter.values.map((each) => each ?? "empty");
  return filter.values.length > 2
    ? `${name} is one of ${filter.values.length}`
    : `${name} is ${[one, two].filter((each) => each !== undefined).join(" or ")}`;
}

export function Histogram({
  summary,
  low = -Infinity,
  high = Infinity,
}: {
  summary: P.ColumnSummary;
  low?: number;
  high?: number;
}) {
  const bars = summary.histogram;
  const [first, last] = [parsed(summary.minimum), parsed(summary.maximum)];
  const wide = 96 / bars.length;
  const out = (at: number) => {
    const middle = first + ((at + 0.5) / bars.length) * (last - first);
    return middle < low || middle > high;
  };
  return (
    <svg viewBox="0 0 96 22" preserveAspectRatio="none" aria-hidden="true">
      {bars.map((height, at) => {
        const tall = height ? Math.max(1, height * 21) : 0;
        return (
          <rect
            x={at * wide}
            y={22 - tall}
            width={wide * 0.8}
            height={tall}
            fill="currentColor"
            opacity={out(at) ? 0.25 : 1}
          />
        );
      })}
    </svg>
  );
}

/** What is known of all values of a column, under its name. */
export function Summary({ column }: { column: P.ColumnView }) {
  const { name, summary } = column;
  if (!summary) return <div class="jf-sum" data-jf={`summary:${name}`} />;
  const empty = summary.empty > 0 && `${percent(summary.empty)} empty`;
  const nulls = empty && <i class="jf-nulls" style={{ width: `${summary.empty * 100}%` }} />;
  const [low, high] = summary.short;
  let shown: ComponentChildren;
  if (summary.top.length) {
    shown = (
      <>
        <div class="jf-hist-row is-top">
          <div class="jf-top">
            {summary.top.map(({ text, share }, at) => (
              <i
                title={`${text}: ${percent(share)}`}
                style={{ flex: String(share * 100), "--p": `${72 - Math.min(at, 6) * 8}%` }}
              />
            ))}
          </div>
          {nulls}
        </div>
        <p>
          <span>{summary.top[0].text}</span>
          {summary.distinct > 1 && <span class="is-more">+{count(summary.distinct - 1)}</span>}
        </p>
      </>
    );
  } else if (isDate(column))
    shown = low && (
      <>
        <p>{low} –</p>
        <p>{high}</p>
      </>
    );
  else if (summary.histogram.length) {
    shown = (
      <>
        <div class="jf-hist-row">
          <Histogram summary={summary} />
          {nulls}
        </div>
        <p>
          <span>{low}</span>
          {empty && <span class="is-empty">{empty}</span>}
          <span>{high}</span>
        </p>
      </>
    );
  } else
    shown = (
      <p>
        <span>{summary.distinct ? `${count(summary.distinct)} distinct` : empty || low}</span>
      </p>
    );
  return (
    <div class="jf-sum" data-jf={`summary:${name}`} title={empty || undefined}>
      {shown}
    </div>
  );
}

interface FilterBoxProps {
  anchor: HTMLElement;
  column: P.ColumnView;
  filter: P.Filter | undefined;
  /** "7,710 of 10,956 rows" */
  found: string;
  run: number;
  /** Refused with what is wrong with the filter. */
  apply: (filter: P.Filter | null) => Promise<void>;
  widen: (by: number) => void;
  hide: () => void;
  close: () => void;
}

/** The box under a column's funnel: a range of numbers or dates, or values and a text. */
export function FilterBox({
  anchor,
  column,
  filter,
  found,
  run,
  apply,
  widen,
  hide,
  close,
}: FilterBoxProps) {
  const { toast } = usePanel();
  const [wrong, setWrong] = useState("");
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const form = useRef<HTMLDivElement | null>(null);
  useLayoutEffect(() => form.current?.querySelector("input")?.focus({ preventScroll: true }), []);
  const say = (text: string) => (form.current ? setWrong : toast)(text); // the box may be closed by then
  const late = useRef<() => void>(() => {}); // what is typed and not applied yet
  const put = (next: P.Filter | null, wait = 250) => {
    clearTimeout(timer.current);
    late.current = () => (
      (late.current = () => {}),
      apply(next).then(
        () => setWrong(""),
        (error: Error) => say(error.message),
      )
    );
    timer.current = setTimeout(() => late.current(), wait);
  };
  useLayoutEffect(() => () => late.current(), []);
  // A date such as the 31st of June has no value: without a word it would be no filter.
  const impossible = ({ target }: any) =>
    target.validity?.badInput &&
    ((late.current = () => {}), say("Enter a valid date, or clear the field."), true);
  const head = anchor.closest(".jf-th") as HTMLElement | null;
  const enter = (event: KeyboardEvent) =>
    event.key === "Enter" &&
    (event.target as HTMLElement).matches("input") &&
    !impossible(event) &&
    (event.preventDefault(), close()); // else Enter presses the funnel, which has the focus then
  return (
    <Popover
      anchor={anchor}
      close={close}
      under={head}
      role="dialog"
      label={`Filter ${column.name}`}
      width={isDate(column) ? 328 : 288}
      right={(head?.offsetLeft ?? 0) > 160}
      onKeyDown={enter}
    >
      <div
        class="jf-form2"
        ref={form}
        onInput={impossible}
        onFocusOut={impossible}
        onFocusIn={({ target }: any) => target.select?.()}
      >
        <header>
          <h3>{column.name}</h3>
          <span class="jf-gap" />
          {[-1, 1].map((by) => (
            <Button
              icon={by < 0 ? "minus" : "plus"}
              aria={by < 0 ? "Narrower" : "Wider"}
              data-jf={`${by < 0 ? "narrower" : "wider"}:${column.name}`}
              onClick={() => widen(by)}
            />
          ))}
          <Button
            kind="is-link"
            label="Hide column"
            data-jf={`hide:${column.name}`}
            onClick={() => (close(), hide())}
          />
        </header>
        {isNumber(column) || isDate(column) ? (
          <RangeBox column={column} filter={filter} put={put} />
        ) : (
          <ValuesBox column={column} filter={filter} run={run} put={put} />
        )}
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
        <Button
          kind="is-link"
          label="Remove filter"
          data-jf="filter-remove"
          onClick={() => (put(null, 0), close())}
        />
      </div>
    </Popover>
  );
}

function RangeBox({
  column,
  filter,
  put,
}: {
  column: P.ColumnView;
  filter?: P.Filter;
  put: (filter: P.Filter | null, wait?: number) => void;
}) {
  const { at, summary } = column;
  const [bounds, setBounds] = useState(
    filter?.kind === "range" ? [filter.low, filter.high] : ["", ""],
  );
  const none = filter?.kind === "values";
  const set = (next: string[], wait = 250) => {
    setBounds(next);
    put(
      next[0].trim() || next[1].trim() ? { at, kind: "range", low: next[0], high: next[1] } : null,
      wait,
    );
  };
  const date = isDate(column);
  const box = (place: number, label: string) => (
    <label>
      {label}
      <div class="jf-box">
        <input
          class="jf-num"
          type={date ? "date" : "text"}
          inputmode={date ? undefined : "decimal"}
          data-jf={place ? "filter-hi" : "filter-lo"}
          value={bounds[place]}
          placeholder={place ? summary?.maximum : summary?.minimum}
          onInput={(event: any) =>
            set(place ? [bounds[0], event.target.value] : [event.target.value, bounds[1]])
          }
        />
      </div>
    </label>
  );
  const back = (days: number) =>
    new Date(Date.parse(`${summary?.short[1]}T00:00:00Z`) - days * 864e5)
      .toISOString()
      .slice(0, 10);
  const quick = [
    ["Last 90 days", () => back(89)],
    ["This year", () => `${summary?.short[1].slice(0, 4)}-01-01`],
    ["Last 12 months", () => back(364)],
  ] as [string, () => string][];
  const [low, high] = bounds.map(parsed);
  return (
    <>
      {!date && summary && summary.histogram.length > 1 && (
        <div class="jf-bighist">
          <Histogram
            summary={summary}
            low={Number.isNaN(low) ? undefined : low}
            high={Number.isNaN(high) ? undefined : high}
          />
        </div>
      )}
      <div class="jf-two">
        {date
          ? [box(0, "From"), box(1, "To")]
          : ["At least", "At most"].map((label, place) =>
              box(place, column.type === "percent" ? `${label} (%)` : label),
            )}
      </div>
      {date && summary?.short[1] && (
        <div class="jf-quick">
          {quick.map(([label, from]) => (
            <Button kind="is-line" label={label} onClick={() => set([from(), ""], 0)} />
          ))}
        </div>
      )}
      {(summary?.empty ?? 0) > 0 && (
        <button
          type="button"
          class="jf-opt"
          role="checkbox"
          aria-checked={none}
          data-jf="filter-empty"
          onClick={() => (
            setBounds(["", ""]), put(none ? null : { at, kind: "values", values: [null] }, 0)
          )}
        >
          <span class="jf-check">
            <Icon name="check" size={12} />
          </span>
          Only the {percent(summary?.empty ?? 0)} that are empty
        </button>
      )}
    </>
  );
}

function ValuesBox({
  column,
  filter,
  run,
  put,
}: {
  column: P.ColumnView;
  filter?: P.Filter;
  run: number;
  put: (filter: P.Filter | null, wait?: number) => void;
}) {
  const { ask, tell } = usePanel();
  const at = column.at;
  const [typed, setTyped] = useState(filter?.kind === "text" ? filter.text : "");
  const [chosen, setChosen] = useState<(string | null)[]>(
    filter?.kind === "values" ? filter.values : [],
  );
  const [page, setPage] = useState<{ values: Value[]; total: number }>({ values: [], total: 0 });
  useLayoutEffect(() => {
    let stale = false;
    const wait = setTimeout(
      () =>
        void tell(
          ask("values", { run, at, query: typed }).then((reply) => stale || setPage(reply)),
        ),
      typed ? 150 : 0,
    );
    return () => {
      stale = true;
      clearTimeout(wait);
    };
  }, [typed]);
  const type = (text: string) => {
    setTyped(text);
    setChosen([]);
    put(text ? { at, kind: "text", text } : null);
  };
  const toggle = (text: string | null) => {
    const next = chosen.includes(text) ? chosen.filter((each) => each !== text) : [...chosen, text];
    setChosen(next);
    put(
      next.length
        ? { at, kind: "values", values: next }
        : typed
          ? { at, kind: "text", text: typed }
          : null,
      0,
    );
  };
  return (
    <>
      <div class="jf-box">
        <input
          aria-label="Contains"
          placeholder="Contains…"
          data-jf="filter-text"
          value={typed}
          onInput={(event: any) => type(event.target.value)}
        />
      </div>
      <div class="jf-list jf-values" role="group" aria-label="Values">
        {page.values.map(({ text, count: n }) => (
          <button
            type="button"
            key={text ?? "\0"}
            class="jf-opt"
            role="checkbox"
            aria-checked={chosen.includes(text)}
            data-jf={`value:${text ?? ""}`}
            onClick={() => toggle(text)}
          >
            <span class="jf-check">
              <Icon name="check" size={12} />
            </span>
            <span class={`jf-name1 ${text ? "" : "is-none"}`}>{text ?? "Empty"}</span>
            <span class="jf-quiet jf-num">{count(n)}</span>
          </button>
        ))}
        {page.total > page.values.length && (
          <p class="jf-quiet">{count(page.total)} values; type to find others.</p>
        )}
      </div>
    </>
  );
}
