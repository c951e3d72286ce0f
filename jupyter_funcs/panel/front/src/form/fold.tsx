import { useRef, useState } from "preact/hooks";
import { count, inert } from "../core/format";
import { Button, Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { useResize } from "../core/useResize";
import { isEach, several } from "./fieldstate";
import { rowsOf, withParts } from "./parts";
import { Elapsed, Progress } from "./progress";

/** Pixels by which chips of one row may differ in height. */
const SAME_ROW = 8;

/** The values on one line; what does not fit is counted. */
export function Fold({ fields, edit }: { fields: P.FieldView[]; edit: () => void }) {
  const { values, run, stacked, setStacked } = usePanel();
  const box = useRef<HTMLDivElement>(null);
  const [fits, setFits] = useState(Infinity);
  const isDefault = ({ name, required, default: text }: P.FieldView) =>
    !required && text !== null && values?.fields[name]?.value === text;
  // What is the default anyway comes last.
  const chips = withParts(fields)
    .sort((a, b) => Number(isDefault(a)) - Number(isDefault(b)))
    .map((field) => chipText(field, values?.fields[field.name] ?? {}))
    .filter(Boolean);
  const countFitting = ({ children }: HTMLElement) => {
    const drawn = [...children] as HTMLElement[];
    const top = drawn[0]?.offsetTop ?? 0;
    setFits(drawn.filter((chip) => chip.offsetTop < top + SAME_ROW).length);
  };
  useResize(box, countFitting, [chips.join("\n")]);
  const rest = chips.length - fits;
  return (
    <div class="jf-fold" data-jf="fold">
      {stacked && (
        <Button
          icon="right"
          aria="Inputs beside the result"
          data-jf="unfold-handle"
          onClick={() => setStacked(false)}
        />
      )}
      <div ref={box} class="jf-fold-chips" role="group" aria-label="Values">
        {chips.map((text) => (
          <span class="jf-chip is-plain" title={text}>
            <span>{inert(text)}</span>
          </span>
        ))}
      </div>
      {rest > 0 && (
        <span class="jf-quiet jf-num" data-jf="fold-rest" title={chips.slice(-rest).join(", ")}>
          +{rest}
        </span>
      )}
      {run.state === "running" ? <FoldedRun /> : <FoldedActs edit={edit} />}
    </div>
  );
}

/** A value as a chip of the folded form. */
function chipText(field: P.FieldView, state: P.FieldState): string {
  const { label, control, flag } = field;
  const { value } = state;
  if (value === undefined || value === null || control === "json") return "";
  if (rowsOf(state)) return control === "rows" ? `${count(rowsOf(state))} × ${label}` : "";
  if (typeof value === "object" && "variable" in value) return `$${value.variable}`;
  if (typeof value === "object" && "constant" in value) return `${label}: ${value.constant}`;
  if (isEach(state)) return `${count(several(state).length)} × ${label}`;
  if (Array.isArray(value) && value.length > 3) return `${count(value.length)} × ${label}`;
  if (Array.isArray(value)) return value.join(", ");
  if (control === "flag") return value === flag?.[0] ? label : `${label}: No`;
  if (control === "date" || control === "number") return `${label} ${value}`;
  return String(value);
}

function FoldedRun() {
  const { run, ask, tell } = usePanel();
  const { done = 0, of = 1 } = run.running ?? {};
  return (
    <>
      {of > 1 && (
        <span class="jf-num jf-quiet">
          {count(done)} of {count(of)} runs
        </span>
      )}
      <Elapsed hook="elapsed-folded" />
      <button
        type="button"
        class="jf-btn is-line"
        data-jf="cancel-folded"
        onClick={() => tell(ask("cancel", {}))}
      >
        <Icon name="stop" fill />
        Cancel
      </button>
      <Progress />
    </>
  );
}

function FoldedActs({ edit }: { edit: () => void }) {
  const { live, submit } = usePanel();
  const isGone = live === "gone";
  return (
    <>
      <button
        type="button"
        class="jf-btn is-line"
        data-jf="edit"
        title="Edit"
        disabled={isGone}
        onClick={edit}
      >
        <Icon name="pencil" />
        Edit
      </button>
      <button
        type="button"
        class="jf-btn is-line"
        data-jf="run-again"
        title="Run"
        disabled={isGone}
        onClick={() => void submit()}
      >
        <Icon name="play" fill />
        Run
      </button>
    </>
  );
}
