import type { TargetedEvent } from "preact";
import { useState } from "preact/hooks";
import { Button, Icon } from "../core/icons";
import type * as P from "../core/protocol";
import { amountOf, boundsOf, isDate, percent } from "./columns";
import { Histogram } from "./histogram";
import { type Put, TYPING } from "./useLateFilter";

/** Both are open. */
const OPEN = ["", ""];
const DAY = 86_400_000;

interface RangeBoxProps {
  column: P.ColumnView;
  filter?: P.Filter;
  put: Put;
}

/** From and to of a column of numbers or dates, or its empty cells. */
export function RangeBox({ column, filter, put }: RangeBoxProps) {
  const { at, summary, type } = column;
  const [bounds, setBounds] = useState(filter?.kind === "range" ? [filter.low, filter.high] : OPEN);
  const [low, high] = bounds;
  const isDay = isDate(column);
  const isEmptyOnly = filter?.kind === "values";
  const unit = type === "percent" ? " (%)" : "";

  const set = (next: string[], wait = TYPING) => {
    const [low, high] = next;
    setBounds(next);
    put(low.trim() || high.trim() ? { at, kind: "range", low, high } : null, wait);
  };
  const toggleEmpty = () => {
    setBounds(OPEN);
    put(isEmptyOnly ? null : { at, kind: "values", values: [null] }, 0);
  };
  const box = (label: string, hook: string, end: number, hint?: string) => (
    <label>
      {label}
      <div class="jf-box">
        <input
          class="jf-num"
          type={type === "date" ? "date" : "text"}
          data-jf={hook}
          value={bounds[end]}
          placeholder={hint}
          onInput={({ currentTarget }: TargetedEvent<HTMLInputElement>) =>
            set(bounds.with(end, currentTarget.value))
          }
        />
      </div>
    </label>
  );
  return (
    <>
      {summary && summary.histogram.length > 1 && (
        <div class="jf-bighist">
          <Histogram
            summary={summary}
            low={amountOf(low)}
            high={amountOf(high)}
            brush={([from, to]) => set(boundsOf(column, from, to), 0)}
          />
        </div>
      )}
      <div class="jf-two">
        {box(isDay ? "From" : `At least${unit}`, "filter-lo", 0, summary?.minimum)}
        {box(isDay ? "To" : `At most${unit}`, "filter-hi", 1, summary?.maximum)}
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

/** Usual periods up to the last day. */
function Periods({ last, choose }: { last: string; choose: (from: string) => void }) {
  const back = (days: number) => {
    const day = new Date(Date.parse(`${last}T00:00:00Z`) - days * DAY);
    return day.toISOString().slice(0, 10);
  };
  const periods = [
    ["Last 90 days", back(89)],
    ["This year", `${last.slice(0, 4)}-01-01`],
    ["Last 12 months", back(364)],
  ];
  return (
    <div class="jf-quick">
      {periods.map(([label, from]) => (
        <Button kind="is-line" label={label} onClick={() => choose(from)} />
      ))}
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
