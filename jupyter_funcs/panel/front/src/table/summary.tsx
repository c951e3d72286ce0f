import { count } from "../core/format";
import type * as P from "../core/protocol";
import { isDate, percent } from "./columns";
import { Histogram } from "./histogram";

/** What is known of all values of a column, under its name. */
export function Summary({ column }: { column: P.ColumnView }) {
  const { name, summary } = column;
  if (!summary) return <div class="jf-sum" data-jf={`summary:${name}`} />;
  return (
    <div class="jf-sum" data-jf={`summary:${name}`} title={emptyText(summary)}>
      <Values column={column} summary={summary} />
    </div>
  );
}

const emptyText = ({ empty }: P.ColumnSummary) =>
  empty > 0 ? `${percent(empty)} empty` : undefined;

function Values({ column, summary }: { column: P.ColumnView; summary: P.ColumnSummary }) {
  const { distinct, histogram, short, top } = summary;
  const [low, high] = short;
  if (top.length) return <Top summary={summary} />;
  if (isDate(column)) return low ? <Days low={low} high={high} /> : null;
  if (histogram.length) return <Bars summary={summary} />;
  const known = distinct ? `${count(distinct)} distinct` : (emptyText(summary) ?? low);
  return (
    <p>
      <span>{known}</span>
    </p>
  );
}

/** The share of a column that is empty. */
function Nulls({ summary: { empty } }: { summary: P.ColumnSummary }) {
  if (empty <= 0) return null;
  return <i class="jf-nulls" style={{ width: `${empty * 100}%` }} />;
}

/** The most frequent values, as wide as their shares, and the first of them as text. */
function Top({ summary }: { summary: P.ColumnSummary }) {
  const { distinct, top } = summary;
  const colour = (at: number) => `${72 - Math.min(at, 6) * 8}%`;
  return (
    <>
      <div class="jf-hist-row is-top">
        <div class="jf-top">
          {top.map(({ text, share }, at) => (
            <i
              title={`${text}: ${percent(share)}`}
              style={{ flex: String(share * 100), "--p": colour(at) }}
            />
          ))}
        </div>
        <Nulls summary={summary} />
      </div>
      <p>
        <span>{top[0].text}</span>
        {distinct > 1 && <span class="is-more">+{count(distinct - 1)}</span>}
      </p>
    </>
  );
}

function Days({ low, high }: { low: string; high: string }) {
  return (
    <>
      <p>{low} –</p>
      <p>{high}</p>
    </>
  );
}

function Bars({ summary }: { summary: P.ColumnSummary }) {
  const [low, high] = summary.short;
  const empty = emptyText(summary);
  return (
    <>
      <div class="jf-hist-row">
        <Histogram summary={summary} />
        <Nulls summary={summary} />
      </div>
      <p>
        <span>{low}</span>
        {empty && <span class="is-empty">{empty}</span>}
        <span>{high}</span>
      </p>
    </>
  );
}
