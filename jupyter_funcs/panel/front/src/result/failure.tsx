import { useState } from "preact/hooks";
import { plural } from "../core/format";
import { Button, Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { repaired } from "../form/fieldstate";

type Props = { error: P.ErrorView; earlier: boolean };

/** Why the run failed, and what can be done; `earlier` is whether an earlier result is below. */
export function Failure({ error, earlier }: Props) {
  const { run } = usePanel();
  const [open, setOpen] = useState(false);
  return (
    <div class="jf-contents" role="alert" data-jf="error">
      <div class={`jf-banner ${run.state === "cancelled" ? "is-warn" : "is-bad"}`}>
        <Icon name="err" />
        <div class="jf-btxt">
          <b>{error.what}</b> {error.hint}
          {earlier && " The result below is from an earlier run."}
        </div>
        <Actions error={error} open={open} setOpen={setOpen} />
      </div>
      {open && <Details text={error.details} />}
    </div>
  );
}

type ActionsProps = { error: P.ErrorView; open: boolean; setOpen: (open: boolean) => void };

function Actions({ error, open, setOpen }: ActionsProps) {
  const { ask, tell, set, submit, live, values } = usePanel();
  const off = live === "gone";
  const fix = (offer: P.ErrorView["fixes"][number]) => {
    set(offer.field, repaired(values?.fields[offer.field] ?? {}, offer));
    void submit();
  };
  return (
    <div class="jf-bact">
      {error.fixes.map((offer) => (
        <Button
          kind="is-line"
          label={offer.text}
          data-jf={`error-fix:${offer.field}`}
          disabled={off}
          onClick={() => fix(offer)}
        />
      ))}
      {error.done > 0 && (
        <Button
          kind="is-line"
          label={`Show ${plural(error.done, "finished run")}`}
          data-jf="so-far"
          disabled={off}
          onClick={() => void tell(ask("so_far", {}))}
        />
      )}
      {error.retry && (
        <Button
          kind="is-line"
          label="Try again"
          data-jf="retry"
          disabled={off}
          onClick={() => void submit(true)}
        />
      )}
      {error.details && (
        <Button
          label="Details"
          chev
          data-jf="error-details"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        />
      )}
      <Button
        icon="x"
        aria="Dismiss"
        data-jf="dismiss"
        disabled={off}
        onClick={() => void tell(ask("dismiss", {}))}
      />
    </div>
  );
}

function Details({ text }: { text: string }) {
  const { copy } = usePanel();
  return (
    <div class="jf-details" tabindex={0}>
      {text}
      <Button
        kind="is-line"
        icon="copy"
        label="Copy details"
        data-jf="error-copy"
        onClick={() => void copy(text)}
      />
    </div>
  );
}
