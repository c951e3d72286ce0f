import { useState } from "preact/hooks";
import type * as P from "../core/protocol";
import { CellBox } from "./cellbox";
import { ColumnList } from "./columnlist";
import { FilterBox } from "./filterbox";
import { Head, type HeadProps } from "./head";
import { PivotBar } from "./pivotbar";
import { Rows } from "./rows";
import { Selected } from "./selected";
import { Sums } from "./sums";
import { TableCode } from "./tablecode";
import { Tools } from "./tools";
import { type GridState, useGrid } from "./useGrid";

/** A column whose filter is open, and the button that opened it. */
export interface OpenFilter {
  at: number;
  anchor: HTMLElement;
}

/** All rows of a result: the tools above them, and the grid. */
export function Grid({ result, pivot }: { result: P.ResultView; pivot: P.PivotView | null }) {
  const grid = useGrid(result);
  const [open, setOpen] = useState<OpenFilter | null>(null);
  const { cell } = grid.selection.now.current;
  return (
    <>
      <Tools grid={grid} result={result} isPivot={pivot !== null} />
      {pivot && <PivotBar grid={grid} result={result} pivot={pivot} />}
      {grid.code.code !== null && <TableCode code={grid.code.code} />}
      <div class="jf-split">
        <Cells grid={grid} open={open} setOpen={setOpen} />
        {grid.isOpen && cell && <CellBox grid={grid} cell={cell} />}
        <Selected grid={grid} />
      </div>
      {grid.listed && <ColumnList grid={grid} anchor={grid.listed} />}
      {open && !grid.off && <ColumnFilter grid={grid} open={open} close={() => setOpen(null)} />}
    </>
  );
}

/** The grid itself, which scrolls and has the keys. */
function Cells({ grid, open, setOpen }: HeadProps) {
  const { id, box, layout, pages, scroll, selection, onKeyDown, openCell } = grid;
  const { cell } = selection.now.current;
  const isDrawn =
    cell &&
    cell.row >= scroll.start &&
    cell.row < scroll.end &&
    layout.cells.some(({ place }) => place === cell.place);
  return (
    <div
      class="jf-grid"
      role="grid"
      tabindex={0}
      aria-label="Rows"
      data-jf="grid"
      ref={box}
      aria-rowcount={pages.total + 1}
      aria-colcount={layout.shown.length}
      aria-multiselectable="true"
      aria-activedescendant={isDrawn ? `${id}-cell` : undefined}
      onScroll={scroll.onScroll}
      onWheel={scroll.onWheel}
      onKeyDown={onKeyDown}
      onMouseDown={selection.onMouseDown}
      onDblClick={() => openCell(true)}
    >
      <Head grid={grid} open={open} setOpen={setOpen} />
      <Rows grid={grid} />
      <Sums grid={grid} />
    </div>
  );
}

function ColumnFilter({
  grid,
  open,
  close,
}: {
  grid: GridState;
  open: OpenFilter;
  close: () => void;
}) {
  const { columns, wanted, query, layout, hidden, hide } = grid;
  const { at, anchor } = open;
  const column = columns.get(at);
  if (!column) return null;
  return (
    <FilterBox
      key={at}
      anchor={anchor}
      column={column}
      filter={wanted.current.filters.find((filter) => filter.at === at)}
      run={grid.run}
      query={grid.pages.query}
      found={grid.told}
      apply={(next) => query.filter(at, next)}
      widen={(by) => layout.widen(at, by)}
      hide={() => hide([...hidden, at])}
      move={(by) => layout.move(at, by)}
      isPinned={layout.isPinned(at)}
      pin={() => layout.pin(at)}
      close={close}
    />
  );
}
