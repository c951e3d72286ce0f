import { count } from "../core/format";
import { fitting, isNumber } from "./columns";
import type { GridState } from "./useGrid";
import { ROW } from "./useScroll";

/** The pixels that say that there are no rows. */
const BLANK = 120;

/** The rows in sight, at their place in the height of all. */
export function Rows({ grid }: { grid: GridState }) {
  const { layout, pages, scroll } = grid;
  const height = pages.total ? scroll.tall : BLANK;
  const rows = Math.max(0, scroll.end - scroll.start);
  return (
    <div
      role="rowgroup"
      class="jf-rows"
      style={{ height: `${height}px`, width: layout.across.width }}
    >
      {pages.total === 0 && <NoRows grid={grid} />}
      {Array.from({ length: rows }, (_, line) => (
        <Row key={scroll.start + line} grid={grid} row={scroll.start + line} />
      ))}
    </div>
  );
}

function NoRows({ grid }: { grid: GridState }) {
  const { query, scroll, table } = grid;
  return (
    <div class="jf-blank" role="row" style={{ width: `${scroll.width}px` }}>
      <div role="gridcell">
        <b>{table.rows ? "No row matches the filters. " : "The result has no rows."}</b>
        {table.rows > 0 && (
          <button type="button" class="jf-inline" data-jf="remove-filters" onClick={query.clear}>
            Clear filters
          </button>
        )}
      </div>
    </div>
  );
}

function Row({ grid, row }: { grid: GridState; row: number }) {
  const { layout, scroll, selection } = grid;
  const top = Math.round(scroll.top / scroll.ratio + (row - scroll.top) * ROW);
  return (
    <div
      class="jf-tr"
      role="row"
      aria-rowindex={row + 2}
      style={{ ...layout.across, top: `${top}px` }}
    >
      {layout.cells.map((cell) => (
        <Cell key={cell.at} grid={grid} row={row} cell={cell} />
      ))}
      <div
        class={`jf-no ${isWithin(selection.several, row) ? "is-in" : ""}`}
        role="presentation"
        aria-hidden="true"
        data-r={row}
      >
        {count(row + 1)}
      </div>
    </div>
  );
}

interface CellProps {
  grid: GridState;
  row: number;
  cell: GridState["layout"]["cells"][number];
}

function Cell({ grid, row, cell: { at, place, style, width, pin } }: CellProps) {
  const { id, columns, pages, selection } = grid;
  const { cell } = selection.now.current;
  const text = pages.cell(row, at);
  const column = columns.get(at);
  const shown = isNumber(column) && text ? fitting(text, width) : text;
  const isOn = cell?.row === row && cell.place === place;
  const isSelected = isWithin(selection.several, row, place);
  const isFall = column?.type === "percent" && text?.startsWith("−");
  const marks = [
    pin,
    isNumber(column) ? "is-r" : "",
    text === null ? "is-null" : "",
    isFall ? "is-neg" : "",
    isOn ? "is-on" : "",
    isSelected ? "is-sel" : "",
  ];
  return (
    <div
      class={`jf-td ${marks.join(" ")}`}
      style={style}
      role="gridcell"
      title={text && shown !== text ? text : undefined}
      id={isOn ? `${id}-cell` : undefined}
      aria-colindex={place + 1}
      aria-selected={isSelected ? "true" : undefined}
      data-r={row}
      data-c={place}
    >
      {text === null ? "–" : shown}
    </div>
  );
}

function isWithin(area: GridState["selection"]["several"], row: number, place = area?.left ?? 0) {
  if (!area || row < area.from || row >= area.to) return false;
  return place >= area.left && place <= area.right;
}
