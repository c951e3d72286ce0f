import { Button } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import { useNotebook } from "../core/useNotebook";

/** The view as pandas code. */
export function TableCode({ code }: { code: string }) {
  const { copy, tell } = usePanel();
  const { notebook, insertCode } = useNotebook();
  return (
    <div class="jf-codeline">
      <code data-jf="table-code">{code}</code>
      {notebook && (
        <Button
          icon="plus"
          label="Insert cell"
          data-jf="insert-table-code"
          onClick={() => void tell(insertCode(code))}
        />
      )}
      <Button icon="copy" label="Copy" data-jf="copy-table-code" onClick={() => void copy(code)} />
    </div>
  );
}
