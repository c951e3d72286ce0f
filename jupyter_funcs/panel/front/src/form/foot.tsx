import { count } from "../core/format";
import { Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { useUniqueId } from "../core/useUniqueId";
import { labelOf } from "./parts";

interface FootProps {
  help: P.FieldView | null;
  isRed: boolean;
  go: (name: string) => void;
}

/** Help of the focused field, what Run needs, and Run. */
export function Foot({ help, isRed, go }: FootProps) {
  const { values, live, submit, clear } = usePanel();
  const { missing = [], wrong = [], advice = [], runs = 1, valid = false } = values ?? {};
  const id = useUniqueId();
  const isGone = live === "gone";
  const hasReason = missing.length > 0 || wrong.length > 0;
  const run = () => {
    if (!isGone) void submit();
  };
  return (
    <>
      {help && !isGone && <HelpLine field={help} />}
      {hasReason && <Reason id={id} isRed={isRed} go={go} />}
      {advice.map((text) => (
        <p class="jf-missing is-soft" role="status" data-jf="advice">
          <Icon name="warn" size={14} />
          <span>{text}</span>
        </p>
      ))}
      <div class="jf-acts">
        <button
          type="button"
          class="jf-btn is-main"
          data-jf="run"
          aria-disabled={valid && !isGone ? undefined : "true"}
          aria-describedby={hasReason ? id : undefined}
          title="Ctrl+Enter"
          onClick={run}
        >
          <Icon name="play" size={14} fill />
          {runs > 1 ? `Run ${count(runs)} times` : "Run"}
        </button>
        <button
          type="button"
          class="jf-btn is-icon is-line"
          data-jf="clear"
          aria-label="Clear the form"
          title="Clear the form"
          disabled={isGone}
          onClick={clear}
        >
          <Icon name="undo" />
        </button>
      </div>
    </>
  );
}

function HelpLine({ field: { label, brief, help } }: { field: P.FieldView }) {
  const text = brief || help;
  if (!text) return null;
  return (
    <p class="jf-help" data-jf="help-line">
      <b>{label}: </b>
      {text.replaceAll("\n", " ")}
    </p>
  );
}

interface ReasonProps {
  id: string;
  isRed: boolean;
  go: (name: string) => void;
}

/** "Missing: Panel · Check: From", where each name leads to its field. */
function Reason({ id, isRed, go }: ReasonProps) {
  const { view, values } = usePanel();
  const { missing = [], wrong = [] } = values ?? {};
  const label = (name: string) => labelOf(view?.fields ?? [], name);
  const link = (name: string, at: number) => (
    <>
      {at > 0 && ", "}
      <button type="button" data-jf={`reason:${name}`} onClick={() => go(name)}>
        {label(name)}
      </button>
    </>
  );
  return (
    <p class={`jf-missing ${isRed ? "" : "is-soft"}`} id={id} data-jf="reason">
      <Icon name="err" size={14} />
      <span>
        {missing.length > 0 && <>Missing: {missing.map(link)}</>}
        {missing.length > 0 && wrong.length > 0 && " · "}
        {wrong.length > 0 && <>Check: {wrong.map(link)}</>}
      </span>
    </p>
  );
}
