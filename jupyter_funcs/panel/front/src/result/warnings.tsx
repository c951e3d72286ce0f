import { useState } from "preact/hooks";
import { Button, Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";

/** What the run warned of: all of two lines; of more the first, and the others on demand. */
export function Warnings({ lines, more }: { lines: string[]; more: boolean }) {
  const { ask, tell, live } = usePanel();
  const [open, setOpen] = useState(lines.length <= 2);
  const shown = open ? lines : lines.slice(0, 1);
  return (
    <div class="jf-banner is-warn jf-warned" role="status" data-jf="warnings">
      <Icon name="warn" />
      <div class="jf-btxt">
        {shown.map((line) => (
          <p key={line}>{line}</p>
        ))}
      </div>
      {!open && (
        <Button
          label={`${lines.length - 1} more`}
          chev
          aria-expanded="false"
          data-jf="warnings-more"
          onClick={() => setOpen(true)}
        />
      )}
      {more && (
        <Button
          label="Get all rows"
          data-jf="all-pages"
          disabled={live === "gone"}
          onClick={() => void tell(ask("all_pages", {}))}
        />
      )}
    </div>
  );
}
