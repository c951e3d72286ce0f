import { useState } from "preact/hooks";

import { count } from "../core/format";
import { Button } from "../core/icons";
import type * as P from "../core/protocol";

export type RunActions = {
  tick: (number: P.RunNumber) => void;
  again: (row: P.HistoryRow) => void;
  open: (row: P.HistoryRow) => void;
  forget: (row: P.HistoryRow) => void;
};

/** One run of the history. */
export function RunRow({
  row,
  ticked,
  off,
  actions,
}: {
  row: P.HistoryRow;
  ticked: boolean;
  off: boolean;
  actions: RunActions;
}) {
  const { number, seconds, status } = row;
  return (
    <tr aria-selected={ticked} data-jf={`run:${number}`}>
      <td>
        {status === "done" && !row.kept && (
          <label class="jf-cbox">
            <input
              type="checkbox"
              checked={ticked}
              aria-label={`Compare run ${number}`}
              data-jf={`tick:${number}`}
              onChange={() => actions.tick(number)}
            />
          </label>
        )}
      </td>
      <td class="jf-num jf-quiet">{row.time}</td>
      <td>
        {row.function}
        {row.kept && <span class="jf-quiet jf-small"> on the service</span>}
      </td>
      <td class="is-args">
        <Differences row={row} />
      </td>
      <td class="is-r">
        <Outcome row={row} />
      </td>
      <td class="is-r is-opt jf-quiet">{seconds === null ? "" : `${seconds.toFixed(2)} s`}</td>
      <td class="is-opt jf-mono">{row.variable || "–"}</td>
      <td>
        <span class="jf-acts">
          {row.kept ? (
            <Forget row={row} off={off} actions={actions} />
          ) : (
            <Again row={row} off={off} actions={actions} />
          )}
          <Button
            icon={row.kept ? "down" : "open"}
            aria={row.kept ? `Fetch ${number}` : `Open run ${number}`}
            data-jf={row.kept ? `fetch:${number}` : `open:${number}`}
            disabled={off || (!row.kept && status !== "done")}
            onClick={() => actions.open(row)}
          />
        </span>
      </td>
    </tr>
  );
}

function Again({ row, off, actions }: { row: P.HistoryRow; off: boolean; actions: RunActions }) {
  return (
    <Button
      icon="refresh"
      aria={`Run ${row.number} again`}
      data-jf={`again:${row.number}`}
      disabled={off}
      onClick={() => actions.again(row)}
    />
  );
}

/** Deletes a run that the service keeps, once it is pressed a second time. */
function Forget({ row, off, actions }: { row: P.HistoryRow; off: boolean; actions: RunActions }) {
  const [asks, setAsks] = useState(false);
  return (
    <Button
      icon="x"
      label={asks ? "Delete result?" : undefined}
      aria={asks ? undefined : `Forget ${row.number}, and its result on the service`}
      data-jf={`forget:${row.number}`}
      disabled={off}
      onBlur={() => setAsks(false)}
      onClick={() => (asks ? actions.forget(row) : setAsks(true))}
    />
  );
}

function Differences({ row }: { row: P.HistoryRow }) {
  if (row.differs.length === 0) return <span class="jf-quiet">none</span>;
  return (
    <>
      {row.differs.map(({ name, value }) => (
        <span class="jf-arg" key={name}>
          {name} <b>{value}</b>
        </span>
      ))}
    </>
  );
}

/** The number of rows of a run, or what became of it. */
function Outcome({ row: { status, rows, error } }: { row: P.HistoryRow }) {
  if (status !== "done") {
    const look = status === "failed" ? "jf-state-bad" : "jf-quiet";
    return (
      <span class={look} title={error || undefined}>
        {status}
      </span>
    );
  }
  return (
    <>
      {rows === null ? "" : count(rows)}
      {error && (
        <span class="jf-state-part" title={error}>
          {" part"}
        </span>
      )}
    </>
  );
}
