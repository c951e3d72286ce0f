import { Button } from "../core/icons";
import { usePanel } from "../core/panelcontext";

/** The view as pandas code. */
export function TableCode({ code }: { code: string }) {
  const { copy } = usePanel();
  return (
    <div class="jf-codeline">
      <code data-jf="table-code">{code}</code>
      <Button icon="copy" label="Copy" data-jf="copy-table-code" onClick={() => void copy(code)} />
    </div>
  );
}
