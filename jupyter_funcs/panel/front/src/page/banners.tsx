import { Button, Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";

/**
 * What concerns the panel as a whole: a kernel that is gone, a service without a catalog, a
 * question before a run.
 */
export function Banners() {
  const { live, view, asks } = usePanel();
  const trouble = view?.service.trouble ?? [];
  if (live === "gone") return <Gone />;
  return (
    <>
      {trouble.length > 0 && <Trouble lines={trouble} />}
      {asks && <Question text={asks} />}
    </>
  );
}

function Gone() {
  return (
    <div class="jf-banner is-warn" role="alert" data-jf="kernel-gone">
      <Icon name="warn" />
      <div class="jf-btxt">
        <b>The kernel has stopped.</b> Run the cell again to continue.
      </div>
    </div>
  );
}

function Trouble({ lines: [first, ...others] }: { lines: string[] }) {
  const { ask, tell, toast } = usePanel();
  const refresh = async () => toast((await ask("refresh", {})).said);
  return (
    <div class="jf-banner is-bad" role="alert" data-jf="trouble">
      <Icon name="err" />
      <div class="jf-btxt">
        <b>{first}</b>
        {others.map((line) => (
          <p>{line}</p>
        ))}
      </div>
      <div class="jf-bact">
        <Button
          kind="is-line"
          label="Try again"
          data-jf="trouble-retry"
          onClick={() => void tell(refresh())}
        />
      </div>
    </div>
  );
}

function Question({ text }: { text: string }) {
  const { submit, forget } = usePanel();
  return (
    <div class="jf-banner is-warn" role="alert" data-jf="asks">
      <Icon name="warn" />
      <div class="jf-btxt">{text}</div>
      <div class="jf-bact">
        <Button kind="is-line" label="Run" data-jf="asks-run" onClick={() => void submit(true)} />
        <Button label="Cancel" data-jf="asks-cancel" onClick={forget} />
      </div>
    </div>
  );
}
