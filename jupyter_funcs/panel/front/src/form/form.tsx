import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { Field } from "./field";
import { Fold } from "./fold";
import { Foot } from "./foot";
import { Kept } from "./kept";
import { isWithin } from "./parts";
import { Running } from "./running";
import { useFocusOfRun } from "./useFocusOfRun";
import { useHelp } from "./useHelp";
import { useWanted } from "./useWanted";

/** The inputs pane; folded to one line in narrow panels. */
export function Form() {
  const { view } = usePanel();
  // What is open or was shown belongs to one function.
  return <Inputs key={view?.function?.id} />;
}

function Inputs() {
  const { view, values, folded, fold, pressed, run, setStacked } = usePanel();
  const { help, show } = useHelp();
  const pane = useRef<HTMLElement>(null);
  const [isMore, setMore] = useState(false);
  /** Fields that say that they are missing. */
  const [told, setTold] = useState<string[]>([]);
  const wanted = useWanted(pane);
  const fields = view?.fields ?? [];
  const { missing = [], wrong = [] } = values ?? {};

  /** Lead to a field, and say there what is missing. */
  const go = (name: string) => {
    wanted.current = name;
    setTold((names) => [...names, name]);
    if (fields.some((field) => field.more && isWithin(field, name))) setMore(true);
    fold(false);
  };
  useEffect(() => {
    setTold(pressed ? missing : []);
    if (!pressed || !values || values.valid) return;
    const needs = [...missing, ...wrong];
    const [first] = fields.flatMap((field) => needs.filter((name) => isWithin(field, name)));
    if (first) go(first);
  }, [pressed]);
  useFocusOfRun(pane);

  const edit = () => {
    wanted.current = fields[0]?.name ?? "";
    fold(false);
  };
  const left = ({ relatedTarget }: FocusEvent) => {
    if (!pane.current?.contains(relatedTarget as Node | null)) show(null);
  };
  const red = missing.filter((name) => told.includes(name));
  const isRed = wrong.length > 0 || red.length > 0;
  return (
    <section
      ref={pane}
      class={`jf-form ${folded ? "is-folded" : ""}`}
      aria-label="Inputs"
      data-jf="inputs"
    >
      <button
        type="button"
        class="jf-handle"
        tabindex={-1}
        aria-label="Fold the inputs"
        title="Fold the inputs  ["
        data-jf="fold-handle"
        onClick={() => setStacked(true)}
      >
        <Icon name="right" size={12} />
      </button>
      <Fold fields={fields} edit={edit} />
      <Fields red={red} isMore={isMore} setMore={setMore} onHelp={show} />
      <Kept />
      <div class="jf-foot" onFocusOut={left}>
        {run.state === "running" ? <Running /> : <Foot help={help} isRed={isRed} go={go} />}
      </div>
    </section>
  );
}

interface FieldsProps {
  /** Names of fields that say that they are missing. */
  red: string[];
  isMore: boolean;
  setMore: (isMore: boolean) => void;
  onHelp: (field: P.FieldView | null) => void;
}

/** Alt+↓ opens the menu of a field, F1 its help: neither is a stop of the Tab key. */
function openTool(event: KeyboardEvent) {
  const tool =
    event.key === "F1" ? "help:" : event.altKey && event.key === "ArrowDown" && "field-menu:";
  const field = (event.target as HTMLElement).closest(".jf-field");
  if (!tool || !field) return;
  event.preventDefault();
  field.querySelector<HTMLElement>(`[data-jf^="${tool}"]`)?.click();
}

/** What the function is about, its fields, and those under "More options". */
function Fields({ red, isMore, setMore, onHelp }: FieldsProps) {
  const { view, values, live } = usePanel();
  const fields = view?.fields ?? [];
  const hidden = fields.filter((field) => field.more);
  const isUsed = (field: P.FieldView) =>
    (values?.fields[field.name]?.value ?? null) !== null ||
    values?.wrong.some((name) => isWithin(field, name));
  const hasMore = isMore || hidden.some(isUsed);
  const draw = (field: P.FieldView) => (
    <Field key={field.name} field={field} red={red} onHelp={onHelp} />
  );
  return (
    <fieldset
      class="jf-fields"
      disabled={live === "gone"}
      data-jf="form"
      aria-label={view?.function?.name}
      onKeyDown={openTool}
    >
      {view?.function?.about && <p class="jf-about">{view.function.about}</p>}
      {view?.function?.changesData && (
        <p class="jf-about is-warn">
          <Icon name="warn" size={14} /> Changes data
        </p>
      )}
      {fields.filter((field) => !field.more).map(draw)}
      {!fields.length && <p class="jf-about">This function has no fields.</p>}
      {hidden.length > 0 && (
        <button
          type="button"
          class="jf-more"
          data-jf="more-options"
          aria-expanded={hasMore}
          onClick={() => setMore(!hasMore)}
        >
          <Icon name="right" size={14} />
          {hasMore ? "Fewer options" : `More options (${hidden.length})`}
        </button>
      )}
      {hasMore && hidden.map(draw)}
    </fieldset>
  );
}
