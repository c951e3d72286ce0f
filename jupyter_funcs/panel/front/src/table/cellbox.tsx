import { Button } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import { useReply } from "../core/useReply";
import { JsonItems, type ReadJson } from "../result/jsonnode";
import type { GridState } from "./useGrid";
import { UseIn } from "./usein";
import type { Cell } from "./useSelection";

const LINK = /^https?:\/\/\S+$/;

/** The whole of a cell, beside the grid; it follows the cell that keys move. */
export function CellBox({ grid, cell: { row, place } }: { grid: GridState; cell: Cell }) {
  const { ask, copy } = usePanel();
  const { columns, layout, pages, run, openCell } = grid;
  const { query } = pages;
  const at = layout.shown[place];
  const name = columns.nameOf(at);
  const cell = { run, row, at, query };
  const key = JSON.stringify(cell);
  const [reply, trouble] = useReply("cell", { ...cell, path: [], from: 0 }, [key]);
  const read: ReadJson = async (path, from) => {
    const { node } = await ask("cell", { ...cell, path, from });
    return node as NonNullable<typeof node>;
  };
  const text = reply?.text ?? "";
  return (
    <aside class="jf-cellbox" aria-label={`Cell of ${name}`} data-jf="cell">
      <header>
        <h3 class="jf-cut">{name}</h3>
        <Button icon="copy" aria="Copy" data-jf="cell-copy" onClick={() => void copy(text)} />
        <Button icon="x" aria="Close" data-jf="cell-close" onClick={() => openCell(false)} />
      </header>
      <div class="jf-scroll" tabindex={0} role="group" aria-label="Value" data-jf="cell-text">
        {trouble && <p class="jf-err">{trouble}</p>}
        {reply?.text === null && <p class="jf-quiet">Empty</p>}
        {reply?.node && (
          <div class="jf-tree">
            <JsonItems key={key} read={read} path={[]} node={reply.node} label={name} />
          </div>
        )}
        {!reply?.node && LINK.test(text) && (
          <a href={text} target="_blank" rel="noopener noreferrer">
            {text}
          </a>
        )}
        {!reply?.node && !LINK.test(text) && <pre>{text}</pre>}
      </div>
      <footer>
        <UseIn cell={cell} key={key} />
      </footer>
    </aside>
  );
}
