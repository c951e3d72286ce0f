import { count } from "../core/format";
import type * as P from "../core/protocol";
import { amountOf, boundsOf, isDate, percent } from "./columns";
import { Histogram } from "./histogram";
import type { GridState } from "./useGrid";

interface SummaryProps {
  grid: GridState;
  column: P.ColumnView;
}

/** What is known of all values of a column, under its name, and of those that are shown. */
export function Summary({ grid, column }: SummaryProps) {
  const { name, summary } = column;
  return (
    <div
      class="jf-sum"
      data-jf={`summary:${name}`}
      title={summary ? emptyText(summary) : undefined}
    >
      {summary && <Values grid={grid} column={column} summary={summary} />}
    </div>
  );
}

const emptyText = ({ empty }: P.ColumnSummary) =>
  empty > 0 ? `${percent(empty)} empty` : undefined;

interface ValuesProps extends SummaryProps {
  summary: P.ColumnSummary;
}

function Values(props: ValuesProps) {
  const { distinct, histogram, short, top } = props.summary;
  if (top.length) return <Top {...props} />;
  if (histogram.length) return <Bars {...props} />;
  const known = distinct ? `${count(distinct)} distinct` : (emptyText(props.summary) ?? short[0]);
  return (
    <p>
      <span>{known}</span>
    </p>
  );
}

/** What of a summary is of the rows that are shown; none if all are. */
const partOf = ({ pages }: GridState, at: number) =>
  pages.isPart ? (pages.parts[at] ?? []) : undefined;

const apply = ({ query, tell }: GridState, at: number, filter: P.Filter | null) =>
  void tell(query.filter(at, filter));

/** The share of a column that is empty. */
function Nulls({ summary: { empty } }: { summary: P.ColumnSummary }) {
  if (empty <= 0) return null;
  return <i class="jf-nulls" style={{ width: `${empty * 100}%` }} />;
}

/** The most frequent values, as wide as their shares, and the first of them as text. */
function Top({ grid, column, summary }: ValuesProps) {
  const { distinct, top } = summary;
  const { at } = column;
  const colour = (place: number) => `${72 - Math.min(place, 6) * 8}%`;
  const part = partOf(grid, at);
  const toggle = (text: string) => {
    const now = grid.pages.query.filters.find((filter) => filter.at === at);
    const isOn = now?.kind === "values" && String(now.values) === text;
    apply(grid, at, isOn ? null : { at, kind: "values", values: [text] });
  };
  return (
    <>
      <div class="jf-hist-row is-top">
        <div class="jf-top">
          {top.map(({ text, share }, place) => (
            <i
              title={`${text}: ${percent(share)}`}
              data-jf={`top:${text}`}
              style={{
                flex: String(share * 100),
                "--p": colour(place),
                "--q": part && `${((part[place] ?? 0) / share) * 100}%`,
              }}
              onClick={() => toggle(text)}
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

/** The parts of a time that are shown: months, days, minutes or seconds. */
const PARTS = [
  [0, 7],
  [0, 10],
  [11, 16],
  [11, 19],
];

/** Two times, as short as they differ. */
function endsOf({ minimum, maximum, short }: P.ColumnSummary) {
  if (!minimum || !maximum) return short;
  const ends = PARTS.map((part) => [minimum.slice(...part), maximum.slice(...part)]);
  return ends.find(([low, high]) => low !== high) ?? short;
}

function Bars({ grid, column, summary }: ValuesProps) {
  const { at } = column;
  const [low, high] = isDate(column) ? endsOf(summary) : summary.short;
  const brush = ([from, to]: [number, number]) => {
    const [low, high] = boundsOf(column, from, to);
    apply(grid, at, low || high ? { at, kind: "range", low, high } : null);
  };
  const canBrush = Number.isFinite(amountOf(summary.minimum) + amountOf(summary.maximum));
  const empty = emptyText(summary);
  return (
    <>
      <div class="jf-hist-row">
        <Histogram
          summary={summary}
          part={partOf(grid, at)}
          brush={canBrush && !grid.off ? brush : undefined}
        />
        <Nulls summary={summary} />
      </div>
      <p>
        <span>{low}</span>
        {empty && <span class="is-empty">{empty}</span>}
        {low !== high && <span>{high}</span>}
      </p>
    </>
  );
}
