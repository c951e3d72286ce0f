import type { TargetedEvent } from "preact";
import { useState } from "preact/hooks";
import { Button, Icon } from "../core/icons";
import type * as P from "../core/protocol";
import { amountOf, boundsOf, isDate, percent } from "./columns";
import { Histogram } from "./histogram";
import { type Put, TYPING } from "./useLateFilter";

type Bounds = [low: string, high: string];
const OPEN: Bounds = ["", ""];
const DAY = 86_400_000;

interface RangeBoxProps {
  column: P.ColumnView;
  filter?: P.Filter;
  put: Put;
}

/** From and to of a column of numbers or dates, or its empty cells. */
export function RangeBox({ column, filter, put }: RangeBoxProps) {
  const { at, summary, type } = column;
  const [bounds, setBounds] = useState<Bounds>(
    filter?.kind === "range" ? [filter.low, filter.high] : OPEN,
  );
  const [low, high] = bounds;
  const isDay = isDate(column);
  const isEmptyOnly = filter?.kind === "values";
  const unit = type === "percent" ? " (%)" : "";

  const set = (next: Bounds, wait = TYPING) => {
    const [low, high] = next;
    setBounds(next);
    put(low.trim() || high.trim() ? { at, kind: "range", low, high } : null, wait);
  };
  const toggleEmpty = () => {
    setBounds(OPEN);
    put(isEmptyOnly ? null : { at, kind: "values", values: [null] }, 0);
  };
  return (
    <>
      {summary && summary.histogram.length > 1 && (
        <div class="jf-bighist">
          <Histogram
            summary={summary}
            low={boundOf(low)}
            high={boundOf(high)}
            brush={([from, to]) => set(boundsOf(column, from, to), 0)}
          />
        </div>
      )}
      <div class="jf-two">
        <Bound
          label={isDay ? "From" : `At least${unit}`}
          isDay={isDay}
          hook="filter-lo"
          value={low}
          hint={summary?.minimum}
          set={(text) => set([text, high])}
        />
        <Bound
          label={isDay ? "To" : `At most${unit}`}
          isDay={isDay}
          hook="filter-hi"
          value={high}
          hint={summary?.maximum}
          set={(text) => set([low, text])}
        />
      </div>
      {isDay && summary?.short[1] && (
        <Periods last={summary.short[1]} choose={(from) => set([from, ""], 0)} />
      )}
      {summary && summary.empty > 0 && (
        <Empty share={summary.empty} isChecked={isEmptyOnly} toggle={toggleEmpty} />
      )}
    </>
  );
}

function boundOf(text: string) {
  const value = amountOf(text);
  return Number.isNaN(value) ? undefined : value;
}

interface BoundProps {
  label: string;
  isDay: boolean;
  hook: string;
  value: string;
  hint: string | undefined;
  set: (text: string) => void;
}

function Bound({ label, isDay, hook, value, hint, set }: BoundProps) {
  const onInput = ({ currentTarget }: TargetedEvent<HTMLInputElement>) => set(currentTarget.value);
  return (
    <label>
      {label}
      <div class="jf-box">
        <input
          class="jf-num"
          type={isDay ? "date" : "text"}
          inputmode={isDay ? undefined : "decimal"}
          data-jf={hook}
          value={value}
          placeholder={hint}
          onInput={onInput}
        />
      </div>
    </label>
  );
}

/** Usual periods up to the last day. */
function Periods({ last, choose }: { last: string; choose: (from: string) => void }) {
  const back = (days: number) => {
    const day = new Date(Date.parse(`${last}T00:00:00Z`) - days * DAY);
    return day.toISOString().slice(0, 10);
  };
  const button = (label: string, from: () => string) => (
    <Button kind="is-line" label={label} onClick={() => choose(from())} />
  );
  return (
    <div class="jf-quick">
      {button("Last 90 days", () => back(89))}
      {button("This year", () => `${last.slice(0, 4)}-01-01`)}
      {button("Last 12 months", () => back(364))}
    </div>
  );
}

interface EmptyProps {
  share: number;
  isChecked: boolean;
  toggle: () => void;
}

function Empty({ share, isChecked, toggle }: EmptyProps) {
  return (
    <button
      type="button"
      class="jf-opt"
      role="checkbox"
      aria-checked={isChecked}
      data-jf="filter-empty"
      onClick={toggle}
    >
      <span class="jf-check">
        <Icon name="check" size={12} />
      </span>
      Only the {percent(share)} that are empty
    </button>
  );
}
