import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { count, inert, size } from "../core/format";
import { Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { useResize } from "../core/useResize";
import { useUniqueId } from "../core/useUniqueId";
import { Field } from "./fields";
import { isEach, several } from "./fieldstate";

/** The inputs pane; folded to one line in narrow panels. */
export function Form() {
  const { view } = usePanel();
  // What is open or was shown belongs to one function.
  return <Inputs key={view?.function?.id} />;
}

function Inputs() {
  const { view, values, live, folded, fold, pressed, run } = usePanel();
  const [more, setMore] = useState(false);
  const [help, putHelp] = useState<P.FieldView | null>(null);
  const latest = useRef({ help, isPressed: false });
  /** Help changes the height of the pane: nothing may move from under the pointer. */
  const setHelp = (field: P.FieldView | null) => (
    (latest.current.help = field), latest.current.isPressed || putHelp(field)
  );
  const released = () =>
    setTimeout(() => ((latest.current.isPressed = false), putHelp(latest.current.help)));
  const press = () => (
    (latest.current.isPressed = true),
    ["pointerup", "pointercancel"].forEach((kind) =>
      addEventListener(kind, released, { once: true }),
    )
  );
  const [shown, setShown] = useState<string[]>([]);
  const pane = useRef<HTMLElement | null>(null);
  const wanted = useRef("");
  const fields = view?.fields ?? [];
  const { missing = [], wrong = [] } = values ?? {};
  const hidden = fields.filter((field) => field.more);
  const hasMore =
    more ||
    hidden.some(
      (field) => (values?.fields[field.name]?.value ?? null) !== null || wrong.includes(field.name),
    );

  /** Lead to a field, and say there what is missing. */
  const go = (name: string) => {
    wanted.current = name;
    setShown((names) => [...names, name]);
    if (hidden.some((field) => field.name === name)) setMore(true);
    fold(false);
  };
  useLayoutEffect(() => {
    const field =
      wanted.current &&
      pane.current?.querySelector(`[data-jf="${CSS.escape(`field:${wanted.current}`)}"]`);
    if (!field) return;
    wanted.current = "";
    const control = field.querySelector(
      ":is(.jf-box, .jf-seg) :is(input, textarea, button)",
    ) as HTMLElement | null;
    control?.focus({ preventScroll: true });
    field.scrollIntoView?.({ block: "nearest" });
  });
  useEffect(() => {
    setShown(pressed ? missing : []);
    const first =
      pressed &&
      values &&
      !values.valid &&
      fields.find(({ name }) => missing.includes(name) || wrong.includes(name));
    if (first) go(first.name);
  }, [pressed]);
  // Cancel takes the focus of the inputs, and leaves it to Run before the next key, which would be the notebook's. Who has gone on keeps it.
  const held = pane.current?.querySelector(":focus");
  useLayoutEffect(() => {
    const next =
      run.state === "running"
        ? held && '[data-jf^="cancel"]'
        : held?.matches('[data-jf^="cancel"]') && '[data-jf^="run"]';
    if (next)
      ([...(pane.current?.querySelectorAll(next) ?? [])] as HTMLElement[])
        .find((button) => button.offsetWidth)
        ?.focus({ preventScroll: true });
  }, [run.state, folded]);

  const draw = (field: P.FieldView) => (
    <Field
      key={field.name}
      field={field}
      missing={missing.includes(field.name) && shown.includes(field.name)}
      onHelp={setHelp}
    />
  );
  const isRed = wrong.length > 0 || missing.some((name) => shown.includes(name));
  return (
    <section
      ref={pane}
      class={`jf-form ${folded ? "is-folded" : ""}`}
      aria-label="Inputs"
      data-jf="inputs"
      onPointerDown={press}
    >
      <Fold fields={fields} edit={() => ((wanted.current = fields[0]?.name ?? ""), fold(false))} />
      <fieldset
        class="jf-fields"
        disabled={live === "gone"}
        data-jf="form"
        aria-label={view?.function?.name}
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
      <div
        class="jf-foot"
        onFocusOut={({ relatedTarget: next }: FocusEvent) =>
          pane.current?.contains(next as Node | null) || setHelp(null)
        }
      >
        {run.state === "running" ? <Running /> : <Foot help={help} isRed={isRed} go={go} />}
      </div>
    </section>
  );
}

/** Help of the focused field, what Run needs, and Run. */
function Foot({
  help,
  isRed,
  go,
}: {
  help: P.FieldView | null;
  isRed: boolean;
  go: (name: string) => void;
}) {
  const { view, values, live, submit, clear } = usePanel();
  const { missing = [], wrong = [], advice = [], runs = 1, valid = false } = values ?? {};
  const id = useUniqueId();
  const label = (name: string) => view?.fields.find((field) => field.name === name)?.label ?? name;
  const link = (name: string, at: number) => (
    <>
      {at ? ", " : ""}
      <button type="button" data-jf={`reason:${name}`} onClick={() => go(name)}>
        {label(name)}
      </button>
    </>
  );
  const off = !valid || live === "gone";
  const why = (
    [
      ["Missing: ", missing],
      ["Check: ", wrong],
    ] as [string, string[]][]
  ).filter(([, names]) => names.length);
  const said = help && (help.brief || help.help);
  return (
    <>
      {said && live !== "gone" && (
        <p class="jf-help" data-jf="help-line">
          <b>{help.label}: </b>
          {said.replaceAll("\n", " ")}
        </p>
      )}
      {why.length > 0 && (
        <p class={`jf-missing ${isRed ? "" : "is-soft"}`} id={id} data-jf="reason">
          <Icon name="err" size={14} />
          <span>
            {why.map(([word, names], at) => (
              <>
                {at ? " · " : ""}
                {word}
                {names.map(link)}
              </>
            ))}
          </span>
        </p>
      )}
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
          aria-disabled={off ? "true" : undefined}
          aria-describedby={why.length ? id : undefined}
          title="Ctrl+Enter"
          onClick={() => live !== "gone" && void submit()}
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
          disabled={live === "gone"}
          onClick={clear}
        >
          <Icon name="undo" />
        </button>
      </div>
    </>
  );
}

/** Seconds since the run began, counted here: the kernel reports once a second. */
function Elapsed({ hook = "elapsed" }) {
  const { run } = usePanel();
  const [, tick] = useState(0);
  const elapsed = run.running?.elapsed ?? 0;
  const told = useRef({ elapsed: -1, at: 0 });
  if (told.current.elapsed !== elapsed) told.current = { elapsed, at: performance.now() };
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 200);
    return () => clearInterval(timer);
  }, []);
  return (
    <span class="jf-num jf-quiet" data-jf={hook}>
      {(elapsed + (performance.now() - told.current.at) / 1000).toFixed(1)} s
    </span>
  );
}

/** A share of the runs that are done; without one, something that moves. */
function Progress({ hook }: { hook?: string }) {
  const { done = 0, of = 0 } = usePanel().run.running ?? {};
  const known = of > 1;
  return (
    <div
      class={`jf-prog ${known ? "" : "is-open"}`}
      role={hook ? "progressbar" : undefined}
      aria-label={hook && "Progress"}
      aria-valuenow={hook && known ? Math.round((100 * done) / of) : undefined}
      data-jf={hook}
    >
      <i style={known ? { width: `${(100 * done) / of}%` } : {}} />
    </div>
  );
}

function Running() {
  const { run, ask, tell, live } = usePanel();
  const { note = "", bytes = 0, done = 0, of = 0 } = run.running ?? {};
  const state =
    live === "busy"
      ? "Waiting for the kernel…"
      : of > 1
        ? `${count(done)} of ${count(of)} runs`
        : bytes
          ? `Receiving, ${size(bytes)}`
          : "Waiting for the service";
  return (
    <>
      <div class="jf-progline">
        <span data-jf="progress-text">{[state, note].filter(Boolean).join(" · ")}</span>
        <Elapsed />
      </div>
      <Progress hook="progress" />
      <div class="jf-acts">
        <button
          type="button"
          class="jf-btn is-line is-cancel"
          data-jf="cancel"
          onClick={() => tell(ask("cancel", {}))}
        >
          <Icon name="stop" size={14} fill />
          Cancel
        </button>
      </div>
    </>
  );
}

/** A value as a chip of the folded form. */
function chip(field: P.FieldView, state: P.FieldState): string {
  const { value } = state;
  if (value === undefined || value === null || field.control === "json") return "";
  if (typeof value === "object" && "variable" in value) return `$${value.variable}`;
  if (isEach(state)) return `${count(several(state).length)} × ${field.label}`;
  if (Array.isArray(value))
    return value.length > 3 ? `${count(value.length)} × ${field.label}` : value.join(", ");
  if (field.control === "flag")
    return value === field.flag?.[0] ? field.label : `${field.label}: No`;
  return field.control === "date" || field.control === "number"
    ? `${field.label} ${value}`
    : String(value);
}

/** The values on one line; what does not fit is counted. */
function Fold({ fields, edit }: { fields: P.FieldView[]; edit: () => void }) {
  const { values, run, submit, ask, tell, live } = usePanel();
  const box = useRef<HTMLDivElement | null>(null);
  const [fits, setFits] = useState(Infinity);
  /** What is the default anyway comes last. */
  const usual = ({ name, required, default: text }: P.FieldView) =>
    Number(!required && text !== null && values?.fields[name]?.value === text);
  const chips = [...fields]
    .sort((a, b) => usual(a) - usual(b))
    .map((field) => chip(field, values?.fields[field.name] ?? {}))
    .filter(Boolean);
  const text = chips.join("\n");
  useResize(
    box,
    ({ children }) => {
      const each = [...children] as HTMLElement[];
      const top = each[0]?.offsetTop ?? 0;
      setFits(each.filter((one) => one.offsetTop < top + 8).length);
    },
    [text],
  );
  const rest = chips.length - fits;
  const { done = 0, of = 1 } = run.running ?? {};
  return (
    <div class="jf-fold" data-jf="fold">
      <div ref={box} class="jf-fold-chips" role="group" aria-label="Values">
        {chips.map((one) => (
          <span class="jf-chip is-plain" title={one}>
            <span>{inert(one)}</span>
          </span>
        ))}
      </div>
      {rest > 0 && (
        <span class="jf-quiet jf-num" data-jf="fold-rest" title={chips.slice(-rest).join(", ")}>
          +{rest}
        </span>
      )}
      {run.state === "running" ? (
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
      ) : (
        <>
          <button
            type="button"
            class="jf-btn is-line"
            data-jf="edit"
            title="Edit"
            disabled={live === "gone"}
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
            disabled={live === "gone"}
            onClick={() => void submit()}
          >
            <Icon name="play" fill />
            Run
          </button>
        </>
      )}
    </div>
  );
}
