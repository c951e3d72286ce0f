import type { ComponentChildren, InputHTMLAttributes, TargetedEvent } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { arrows } from "../core/arrows";
import { count, inert, marked, plural, shortened } from "../core/format";
import { Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import { Popover } from "../core/popover";
import type * as P from "../core/protocol";
import { useUniqueId } from "../core/useUniqueId";
import { FieldTools } from "./fieldmenu";
import { isEach, mended, several } from "./fieldstate";
import { Paste } from "./paste";
import { usePaste } from "./usePaste";
export type ControlProps = {
  field: P.FieldView;
  state: P.FieldState;
  id: string;
  describe: string | undefined;
  bad: boolean;
};

const PASTE = /[\r\n\t,;]/;
const MOST_CHIPS = 6;
const SEARCH_AFTER = 120; // milliseconds

const bound = ({ value }: P.FieldState) =>
  value && typeof value === "object" && "variable" in value ? value : null;

/** "just now", "5 min old". in seconds since 1970 */
function age(at: number) {
  const minutes = (Date.now() / 1000 - at) / 60;
  const of = (n: number, unit: string) => `${plural(Math.floor(n), unit)} old`;
  if (minutes >= 60) return minutes >= 1440 ? of(minutes / 1440, "day") : of(minutes / 60, "hour");
  return minutes < 1 ? "just now" : `${Math.floor(minutes)} min old`;
}

/** One field: its name, tools, control and what is said of it. */
export function Field({
  field,
  missing,
  onHelp,
}: {
  field: P.FieldView;
  missing: boolean;
  onHelp: (field: P.FieldView | null) => void;
}) {
  const { values, set } = usePanel();
  const id = useUniqueId();
  const [other, setOther] = useState(false);
  const state: P.FieldState = values?.fields[field.name] ?? {};
  const errors = state.errors?.length
    ? state.errors
    : missing
      ? [{ text: "Required", use: "", instead: "" }]
      : [];
  const [each, variable] = [isEach(state), bound(state)];
  const bad = errors.length > 0;
  const byDefault =
    field.control === "flag" &&
    (state.value ?? null) === null &&
    field.default !== null &&
    !field.required;
  const note =
    each || variable?.each
      ? "one run each"
      : byDefault
        ? field.hint || `${field.default} (default)`
        : state.carried
          ? "carried over"
          : "";
  const lines =
    each && (field.control === "json" || field.control === "several" || field.control === "list");
  const Control = variable
    ? Bound
    : lines
      ? Lines
      : each ||
          Array.isArray(state.value) ||
          field.control === "several" ||
          field.control === "list"
        ? Chips
        : other && field.control === "flag"
          ? TextBox
          : CONTROLS[field.control];
  const messages = [
    ...errors.map((one) => ({ ...one, bad: true })),
    ...(state.warnings ?? []).map((one) => ({ ...one, bad: false })),
  ];
  const fix = (message: P.Message) => set(field.name, mended(state, message));
  const blur = (event: FocusEvent) => {
    const [here, next] = [event.currentTarget, event.relatedTarget] as (Element | null)[];
    // Run must not move from under the pointer that presses it.
    if (!here?.contains(next) && !next?.closest(".jf-foot")) onHelp(null);
  };
  const wide = field.control === "json" || lines;
  const place = useRef<HTMLDivElement | null>(null);
  // What is wrong is read where it is typed, also at the foot of the pane.
  useLayoutEffect(
    () =>
      void (
        messages.length &&
        place.current?.contains(document.activeElement) &&
        place.current.lastElementChild?.scrollIntoView?.({ block: "nearest" })
      ),
    [messages.length],
  );
  return (
    <div
      ref={place}
      class={`jf-field ${field.short && !each ? "is-short" : ""} ${wide ? "is-full" : ""} ${bad ? "is-bad" : messages.length ? "is-warn" : ""}`}
      data-jf={`field:${field.name}`}
      onFocusIn={() => onHelp(field)}
      onFocusOut={blur}
    >
      <div class="jf-label">
        <div class="jf-named">
          <label for={id} id={`${id}l`} title={field.label}>
            {field.label}
            {field.required && (
              <>
                <span class="jf-req" aria-hidden="true">
                  *
                </span>
                <span class="jf-off"> (required)</span>
              </>
            )}
          </label>
          {note && (
            <span class="jf-note" title={note}>
              {note}
            </span>
          )}
        </div>
        <FieldTools field={field} state={state} onOther={setOther} />
      </div>
      <Control
        field={field}
        state={state}
        id={id}
        describe={messages.length ? `${id}e` : undefined}
        bad={bad}
      />
      {messages.length > 0 && (
        <div id={`${id}e`}>
          {messages.map((one) => (
            <div
              class={`jf-err ${one.bad ? "" : "is-warn"}`}
              data-jf={`${one.bad ? "error" : "warning"}:${field.name}`}
              role={one.bad ? "alert" : "status"}
            >
              <Icon name={one.bad ? "err" : "warn"} size={14} />
              <span>
                {one.text}{" "}
                {one.use && (
                  <button type="button" data-jf={`fix:${field.name}`} onClick={() => fix(one)}>
                    {one.text.includes("Did you mean") ? "Use it" : `Use ${one.use}`}
                  </button>
                )}
              </span>
            </div>
          ))}
        </div>
      )}
      {state.notes?.map((text) => (
        <div class="jf-each" role="status">
          {text}
        </div>
      ))}
      {each && (
        <div class="jf-each">
          <Icon name="each" size={14} />
          <span>
            {"Runs once for each of "}
            {plural(several(state).filter((one) => one.trim()).length, lines ? "line" : "value")}
          </span>
        </div>
      )}
    </div>
  );
}

/** What is typed into a box; a text that isn't whole yet (`$na`, `2025-0`) stays here until Enter or until the box is left. */
function useTyped(
  { field, state }: ControlProps,
  isPart: (text: string) => boolean = (text) => text.startsWith("$"),
) {
  const { set, submit, tell } = usePanel();
  const [draft, setDraft] = useState<string | null>(null);
  const latest = useRef(draft);
  latest.current = draft;
  const take = (text: string) => (
    setDraft(null), (latest.current = null), set(field.name, text.trim() ? text : null)
  );
  const commit = () => latest.current !== null && take(latest.current);
  return {
    text: draft ?? (typeof state.value === "string" ? state.value : ""),
    take,
    commit,
    onInput: ({
      currentTarget: { value },
    }: TargetedEvent<HTMLInputElement | HTMLTextAreaElement>) =>
      isPart(value) ? setDraft(value) : take(value),
    onEnter: (event: KeyboardEvent) => {
      if (event.key !== "Enter" || event.isComposing) return;
      commit();
      if (event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      void tell(submit());
    },
  };
}

/** What every control says of itself. */
const said = ({ field, id, describe, bad }: ControlProps) => ({
  id,
  autocomplete: "off",
  spellcheck: false,
  "aria-invalid": bad ? ("true" as const) : undefined,
  "aria-describedby": describe,
  "aria-required": field.required ? ("true" as const) : undefined,
});

function Entry({
  of,
  typed,
  children,
  ...rest
}: {
  of: ControlProps;
  typed?: ReturnType<typeof useTyped>;
  children?: ComponentChildren;
} & InputHTMLAttributes) {
  return (
    <div class="jf-box">
      <input
        {...said(of)}
        value={typed?.text}
        placeholder={of.field.hint}
        onInput={typed?.onInput}
        onBlur={typed?.commit}
        onKeyDown={typed?.onEnter}
        {...rest}
      />
      {children}
    </div>
  );
}

const TextBox = (props: ControlProps) => <Entry of={props} typed={useTyped(props)} />;

function NumberBox(props: ControlProps) {
  const { field } = props;
  const { minimum: low, maximum: high } = field;
  const typed = useTyped(props);
  const now = Number(typed.text || NaN);
  const known = Number.isFinite(now) ? now : undefined;
  const step = (by: number) => {
    const from =
      known === undefined
        ? Number(field.default ?? low ?? 0) + (field.default === null ? 0 : by)
        : now + by;
    const next = Math.max(low ?? -Infinity, Math.min(high ?? Infinity, from));
    if (Number.isFinite(next)) typed.take(String(+next.toPrecision(12)));
  };
  const keys = (event: KeyboardEvent) => {
    const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (by && field.strict) event.preventDefault(), step(by);
    typed.onEnter(event);
  };
  const spin: InputHTMLAttributes = field.strict
    ? {
        role: "spinbutton",
        "aria-valuemin": low ?? undefined,
        "aria-valuemax": high ?? undefined,
        "aria-valuenow": known,
        "aria-valuetext": typed.text || field.hint || "Empty",
      }
    : {};
  const button = (hook: "less" | "more") => (
    <button
      type="button"
      tabindex={-1}
      aria-label={`${field.label}: ${hook}`}
      data-jf={`${hook}:${field.name}`}
      onClick={() => step(hook === "less" ? -1 : 1)}
    >
      <Icon name={hook === "less" ? "minus" : "plus"} size={12} />
    </button>
  );
  return (
    <Entry
      of={props}
      typed={typed}
      inputmode={field.integer ? "numeric" : "decimal"}
      class="jf-num"
      onKeyDown={keys}
      {...spin}
    >
      {field.strict && (
        <div class="jf-step">
          {button("less")}
          {button("more")}
        </div>
      )}
    </Entry>
  );
}

function DateBox(props: ControlProps) {
  const { field, state } = props;
  // A day is judged when its tenth character is typed; from then on at each key.
  const typed = useTyped(
    props,
    (text) =>
      text.startsWith("$") ||
      (text.length > 0 && text.length < 10 && !state.errors?.length && !state.warnings?.length),
  );
  const native = useRef<HTMLInputElement | null>(null);
  const pick = () => {
    const input = native.current;
    if (!input) return;
    input.value = /^\d{4}-\d\d-\d\d$/.test(typed.text) ? typed.text : "";
    try {
      input.showPicker();
    } catch {
      input.focus();
    }
  };
  return (
    <Entry of={props} typed={typed} class="jf-num">
      <input
        ref={native}
        type="date"
        class="jf-native"
        tabindex={-1}
        aria-hidden="true"
        onChange={(event: any) => typed.take(event.currentTarget.value)}
      />
      <button
        type="button"
        class="jf-mini"
        data-jf={`calendar:${field.name}`}
        aria-label={`${field.label}: open calendar`}
        onClick={pick}
      >
        <Icon name="cal" size={14} />
      </button>
    </Entry>
  );
}

/** Yes, no, or the default. */
function Segments(props: ControlProps) {
  const { field, state, id } = props;
  const { set } = usePanel();
  const [yes, no] = field.flag ?? ["Yes", "No"];
  const options: [string | null, string][] = [
    ...(field.required
      ? []
      : [[null, field.default === null ? "Not set" : "Default"] as [null, string]]),
    [yes, "Yes"],
    [no, "No"],
  ];
  const now = state.value ?? null;
  if (typeof now === "string" && !options.some(([value]) => value === now))
    return <TextBox {...props} />;
  const at = options.findIndex(([value]) => value === now);
  const keys = (event: KeyboardEvent) =>
    arrows(event, Math.max(at, 0), options.length, (next) => set(field.name, options[next][0]));
  return (
    <div
      class={`jf-seg ${now === null ? "" : "is-set"}`}
      role="radiogroup"
      aria-labelledby={`${id}l`}
      aria-required={field.required ? "true" : undefined}
      onKeyDown={keys}
    >
      {options.map(([value, label], i) => (
        <button
          type="button"
          role="radio"
          id={i ? undefined : id}
          aria-checked={value === now}
          tabindex={i === Math.max(at, 0) ? 0 : -1}
          data-jf={`value:${field.name}:${label}`}
          onClick={() => set(field.name, value)}
        >
          {label}
        </button>
      ))}
    </div>
  );
}

function JsonBox(props: ControlProps) {
  const typed = useTyped(props);
  return (
    <div class="jf-box">
      <textarea
        {...said(props)}
        rows={3}
        value={typed.text}
        placeholder={props.field.hint}
        onInput={typed.onInput}
        onBlur={typed.commit}
      />
    </div>
  );
}

/** Several lists or JSON values, a line each. */
function Lines(props: ControlProps) {
  const { field, state } = props;
  const { set } = usePanel();
  const [draft, setDraft] = useState<string | null>(null);
  const input = ({ currentTarget: { value } }: any) => (
    setDraft(value), set(field.name, { each: value.split("\n") })
  );
  const hint =
    field.control === "json" ? "One JSON value per line" : "One list per line, with commas";
  return (
    <div class="jf-box">
      <textarea
        {...said(props)}
        rows={3}
        value={draft ?? several(state).join("\n")}
        placeholder={hint}
        onInput={input}
        onBlur={() => setDraft(null)}
      />
    </div>
  );
}

/** A variable of the notebook. */
function Bound({ field, state, id }: ControlProps) {
  const { set } = usePanel();
  const variable = bound(state);
  if (!variable) return null;
  return (
    <div class="jf-box is-chips">
      <span class="jf-chip is-var" data-jf={`variable:${field.name}`}>
        <span>
          ${variable.variable}
          <small>{inert(variable.about)}</small>
        </span>
        <button
          type="button"
          id={id}
          data-jf={`unbind:${field.name}`}
          aria-label={`Remove variable ${variable.variable}`}
          onClick={() => set(field.name, null)}
        >
          <Icon name="x" size={12} />
        </button>
      </span>
    </div>
  );
}

function matching(options: P.Option[], query: string) {
  const wanted = query.trim().toLowerCase();
  if (!wanted) return options;
  const words = wanted.split(/\s+/);
  const rank = ({ value, label, group }: P.Option) => {
    const [code, name] = [value.toLowerCase(), label.toLowerCase()];
    return [
      code.startsWith(wanted),
      name.startsWith(wanted),
      ` ${name}`.includes(` ${wanted}`),
      words.every((word) => `${code} ${name} ${group.toLowerCase()}`.includes(word)),
    ].indexOf(true);
  };
  return options
    .map((option) => ({ option, place: rank(option) }))
    .filter(({ place }) => place >= 0)
    .sort((a, b) => a.place - b.place)
    .map(({ option }) => option);
}

/** The option that a text names in full: by its code, or by a name that no other has. */
function exactly(options: P.Option[], text: string) {
  const is = (one: string) => one.toLowerCase() === text.toLowerCase();
  const named = options.filter(({ label }) => is(label));
  return (
    options.find(({ value }) => is(value)) ??
    (named.every(({ value }) => value === named[0].value) ? named[0] : undefined)
  );
}

const NONE: P.OptionPage = {
  options: [],
  total: 0,
  groups: [],
  note: "",
  at: null,
  again: false,
  asking: false,
};

/** The options that match: searched here where the page has all of them, else by the kernel, a page at a time. */
function useOptions(field: P.FieldView, query: string, open: boolean, many: boolean) {
  const { ask, tell } = usePanel();
  const flags = (field.flag ?? []).map((value) => ({ value, label: "", group: "" }));
  const page = field.options ?? { ...NONE, options: flags, total: flags.length };
  const whole = page.options.length >= page.total;
  const [found, setFound] = useState<(P.OptionPage & { query: string }) | null>(null);
  const wanted = useRef("");
  const grouped = many && !query.trim();
  useEffect(() => {
    wanted.current = query;
    if (whole || !open) return setFound(null);
    const search = () =>
      tell(
        ask("options", { field: field.name, query, grouped, from: 0 }).then(
          (reply) => wanted.current === query && setFound({ ...reply, query }),
        ),
      );
    const timer = setTimeout(search, SEARCH_AFTER);
    return () => clearTimeout(timer);
  }, [query, whole, open, page]);
  const groups = (grouped && (whole ? page : found)?.groups) || [];
  const matches = whole ? matching(page.options, query) : (found ?? page).options;
  const shown =
    whole && groups.length
      ? groups.flatMap(([name]) => matches.filter((option) => option.group === name))
      : matches;
  const total = whole ? shown.length : (found ?? page).total;
  const next = async () => {
    if (whole || !found || found.options.length >= found.total) return;
    const reply = await ask("options", {
      field: field.name,
      query,
      grouped,
      from: found.options.length,
    });
    if (wanted.current === query)
      setFound({
        ...found,
        options: [
          ...found.options,
          ...reply.options.filter((one) => !found.options.some((old) => old.value === one.value)),
        ],
      });
  };
  /** All values that match, or those of one group. */
  const all = async (group: string): Promise<string[]> => {
    if (whole) return shown.filter((one) => !group || one.group === group).map((one) => one.value);
    return (await ask("all_options", { field: field.name, group, query })).values;
  };
  const late = !whole && query.trim() !== "" && found?.query !== query;
  return { page, options: shown, groups, total, late, next: () => void tell(next()), all };
}

/** Soon listed: Enter waits for what matches, rather than to take half a name. */
const waits = (page: P.OptionPage) => page.asking && page.note.startsWith("Listing");

/** Where the values come from, and a button that lists them again. */
function Source({
  field,
  page,
  children,
}: {
  field: P.FieldView;
  page: P.OptionPage;
  children?: unknown;
}) {
  const { ask, tell } = usePanel();
  if (!page.note && !children) return null;
  const old = page.at && !page.asking ? age(page.at) : "";
  return (
    <div class="jf-pf is-source">
      {children}
      <span class="jf-gap" title={page.note}>
        {!page.total && !page.asking
          ? ""
          : children && old
            ? old
            : `${inert(page.note)}${old && ` · ${old}`}`}
      </span>
      {page.again && (
        <button
          type="button"
          class="jf-btn is-icon"
          tabindex={-1}
          data-jf={`ask:${field.name}`}
          aria-label="List them again"
          title="List them again"
          onClick={() => tell(ask("list_again", { field: field.name }))}
        >
          <Icon name="refresh" size={14} />
        </button>
      )}
    </div>
  );
}

/** The list below a combobox, which keeps the focus: `aria-activedescendant` names the option at `on`. */
function Listbox({
  id,
  label,
  query,
  on,
  options,
  chosen,
  several: many = false,
  groups,
  extra = "",
  empty,
  pick,
  more,
  group,
  ordered = false,
}: {
  id: string;
  label: string;
  query: string;
  on: number;
  options: P.Option[];
  chosen: string[];
  several?: boolean;
  groups: P.OptionPage["groups"];
  extra?: string;
  empty: string;
  pick: (at: number) => void;
  more: () => void;
  group: (name: string, taken: boolean) => void;
  ordered?: boolean;
}) {
  const list = useRef<HTMLDivElement | null>(null);
  useLayoutEffect(
    () => list.current?.querySelector(".is-on")?.scrollIntoView?.({ block: "nearest" }),
    [on, options.length],
  );
  const scrolled = ({ currentTarget: box }: any) =>
    box.scrollTop + box.clientHeight > box.scrollHeight - 200 && more();
  const held = new Set(chosen);
  const row = (option: P.Option, at: number) => (
    <div
      key={option.value}
      class={`jf-opt ${at === on ? "is-on" : ""}`}
      role="option"
      id={`${id}-${at}`}
      aria-selected={held.has(option.value)}
      data-jf={`option:${option.value}`}
      onClick={() => pick(at)}
    >
      {many && (
        <span class="jf-check">
          <Icon name="check" size={12} />
        </span>
      )}
      <span class="jf-code1">{marked(inert(option.value), query)}</span>
      <span class="jf-name1">{marked(inert(option.label), query)}</span>
      {ordered && held.has(option.value) && (
        <span class="jf-quiet jf-num">{chosen.indexOf(option.value) + 1}</span>
      )}
      {!many && held.has(option.value) && <Icon name="check" size={14} />}
    </div>
  );
  const heading = ([name, size]: [string, number]) => {
    const taken =
      options.filter((option) => option.group === name && held.has(option.value)).length === size;
    return (
      <div class="jf-ph" role="presentation">
        {inert(name || "Others")} ({count(size)})
        <span
          class="jf-inline"
          aria-hidden="true"
          data-jf={`group:${name}`}
          onClick={() => group(name, taken)}
        >
          {taken ? "None" : "All"}
        </span>
      </div>
    );
  };
  return (
    <div
      ref={list}
      class="jf-list"
      role="listbox"
      id={id}
      aria-label={label}
      aria-multiselectable={many ? "true" : undefined}
      onScroll={scrolled}
    >
      {options.map((option, at) => {
        const starts =
          at === 0 || options[at - 1].group !== option.group
            ? groups.find(([name]) => name === option.group)
            : undefined;
        return starts ? [heading(starts), row(option, at)] : row(option, at);
      })}
      {extra && (
        <div
          class={`jf-opt ${on === options.length ? "is-on" : ""}`}
          role="option"
          id={`${id}-${options.length}`}
          aria-selected="false"
          data-jf="other"
          onClick={() => pick(options.length)}
        >
          {query ? (
            <span class="jf-cut">
              Use “<b>{inert(extra)}</b>”
            </span>
          ) : (
            extra
          )}
        </div>
      )}
      {!options.length && !extra && (
        <div class="jf-opt jf-quiet" role="option" aria-selected="false" aria-disabled="true">
          {empty}
        </div>
      )}
    </div>
  );
}

/** One of few or many options, found by code or name; or several values as chips, with all, by group and pasting. */
function Chooser(props: ControlProps & { many?: boolean }) {
  const { field, state, id, many = false } = props;
  const { name } = field;
  const { announce, ask, set, submit, tell } = usePanel();
  const [each, values] = [isEach(state), several(state)];
  const value = many ? "" : (values[0] ?? "");
  const [draft, setDraft] = useState<string | null>(null);
  const [open, setOpen] = useState(false);
  const [on, setOn] = useState(-1);
  const [pasting, setPasting] = useState(false);
  const box = useRef<HTMLDivElement | null>(null);
  const input = useRef<HTMLInputElement | null>(null);
  const other = useRef(false); // "Other…" was chosen, and nothing has been typed yet
  const eager = useRef(false); // Enter was pressed before what matches was found
  const early = useRef(""); // taken as it was typed, before the options were there
  const query = draft ?? "";
  const text = query.trim();
  const { page, options, groups, total, late, next, all } = useOptions(field, query, open, many);
  const choosable = field.options !== null || field.flag !== null;
  const hit = text ? exactly([...options, ...page.options], text) : undefined;
  const extra = !field.open || page.asking || hit ? "" : text || (many ? "" : "Other…");
  const rows = options.length + (extra ? 1 : 0);

  const put = (list: string[]) => {
    const one = field.control === "list" && !each ? list : [...new Set(list)]; // what is typed may repeat, as in a list of numbers
    set(name, each ? { each: one } : one.length ? one : null);
    announce(`${plural(one.length, "value")} chosen`);
  };
  const end = () => ((other.current = eager.current = false), setDraft(null), setOpen(false));
  const commit = () => {
    if (draft === null) return;
    const taken = hit ? hit.value : text;
    early.current = hit || !(page.asking || page.total > page.options.length) ? "" : text;
    if (!many && !other.current) set(name, taken || null);
    else if (taken) put([...values, taken]);
    setDraft(null);
  };
  useEffect(() => {
    const typed = early.current;
    if (page.asking || !typed || !values.includes(typed)) return;
    early.current = "";
    void tell(
      ask("options", { field: name, query: typed, grouped: false, from: 0 }).then((reply) => {
        const meant = exactly(reply.options, typed)?.value ?? typed;
        if (meant !== typed)
          many ? put(values.map((one) => (one === typed ? meant : one))) : set(name, meant);
      }),
    );
  }, [page.asking, values.includes(early.current)]);
  const start = () => {
    if (choosable)
      setOn(text ? 0 : options.findIndex((option) => option.value === value)), setOpen(true);
  };
  const pick = (at: number) => {
    const option = options[at]?.value;
    if (option === undefined) {
      if (!text) return ((other.current = true), setDraft(""), setOpen(false));
      commit();
      return many || end();
    }
    setDraft(null);
    if (many)
      return put(
        values.includes(option) ? values.filter((one) => one !== option) : [...values, option],
      );
    setOpen(false);
    set(name, option);
  };
  useLayoutEffect(
    () => void (eager.current && !late && ((eager.current = false), pick(0))),
    [late],
  );
  const keys = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by && choosable) {
      event.preventDefault();
      if (!open) start();
      else if (rows) setOn((on + by + rows + (on < 0 && by < 0 ? 1 : 0)) % rows);
    } else if (event.key === "Enter" && !event.isComposing) {
      if (event.ctrlKey || event.metaKey) return (commit(), setOpen(false));
      event.preventDefault();
      if (open && waits(page) && text) return;
      if (open && late) return void (eager.current = true);
      if (open && on >= 0 && on < rows) return pick(on);
      const adds = many && text;
      commit();
      if (!open && !adds) void tell(submit());
      if (!many) setOpen(false);
    } else if (event.key === "Escape" && open)
      event.preventDefault(), event.stopPropagation(), end();
    else if (event.key === "Backspace" && many && !query && values.length) put(values.slice(0, -1));
  };
  const type = ({ currentTarget: { value: typed } }: any) => (
    (other.current = eager.current = false),
    setDraft(typed),
    choosable && setOpen(true),
    setOn(typed.trim() && !typed.startsWith("$") ? 0 : -1)
  );
  const paste = usePaste(field, (list) => put([...values, ...list]));
  const pasted = (event: ClipboardEvent) => {
    const list = event.clipboardData?.getData("text") ?? "";
    if (many && PASTE.test(list)) event.preventDefault(), paste(list);
  };
  const group = (of: string, taken: boolean) =>
    tell(
      all(of).then((list) =>
        put(taken ? values.filter((one) => !list.includes(one)) : [...values, ...list]),
      ),
    );
  const aim = (event: MouseEvent, toggle = false) => (
    event.preventDefault(), input.current?.focus(), toggle && open ? setOpen(false) : start()
  );

  const chips = !many ? [] : values.length > MOST_CHIPS ? values.slice(0, 4) : values;
  const short = shortened(chips);
  const label = page.options.find((option) => option.value === value)?.label;
  const list = `${id}o`;
  const combo: InputHTMLAttributes = choosable
    ? {
        role: "combobox",
        "aria-expanded": open,
        "aria-autocomplete": "list",
        "aria-controls": list,
        "aria-activedescendant": open && on >= 0 && on < rows ? `${list}-${on}` : undefined,
      }
    : {};
  const hint = many
    ? values.length
      ? ""
      : choosable
        ? field.hint
        : "Type, Enter adds"
    : draft === ""
      ? "Type any value"
      : field.hint;
  const link = (hook: string, said: string, click: () => void) => (
    <button
      type="button"
      class="jf-btn is-link"
      tabindex={-1}
      data-jf={`${hook}:${name}`}
      onClick={click}
    >
      {said}
    </button>
  );
  return (
    <div
      ref={box}
      class={`jf-box ${many ? "is-chips" : value ? "has-value" : ""} ${choosable ? "" : "is-free"}`}
      onMouseDown={(event: MouseEvent) => event.target === box.current && aim(event)}
    >
      {value && (
        <div class="jf-shown" aria-hidden="true">
          <span>{inert(value)}</span>
          {label && <span class="is-name">{inert(label)}</span>}
        </div>
      )}
      {chips.map((one, at) => (
        <span key={at} class={`jf-chip ${state.unknown?.includes(one) ? "is-warn" : ""}`}>
          <span title={one}>{inert(short(one))}</span>
          <button
            type="button"
            data-jf={`remove:${name}:${one}`}
            aria-label={`Remove ${one}`}
            onClick={() => (put(values.filter((_, place) => place !== at)), input.current?.focus())}
          >
            <Icon name="x" size={12} />
          </button>
        </span>
      ))}
      {values.length > chips.length && many && (
        <span class="jf-chip">
          <button type="button" class="jf-chip-more" data-jf={`chips-more:${name}`} onClick={aim}>
            +{count(values.length - chips.length)} more
          </button>
        </span>
      )}
      <input
        ref={input}
        {...said(props)}
        {...combo}
        class={many && !values.length ? "is-alone" : ""}
        aria-label={many ? `${field.label}, ${count(values.length)} chosen` : undefined}
        value={draft ?? value}
        placeholder={hint}
        onFocus={() => many || input.current?.select()}
        onClick={() => open || start()}
        onInput={type}
        onKeyDown={keys}
        onPaste={pasted}
        onBlur={() => (commit(), end())}
      />
      {choosable && (
        <button
          type="button"
          class="jf-mini"
          tabindex={-1}
          data-jf={`show:${name}`}
          aria-label={`${field.label}: show values`}
          onMouseDown={(event: MouseEvent) => aim(event, true)}
        >
          <Icon name="chev" size={14} />
        </button>
      )}
      {open && input.current && (
        <Popover
          anchor={input.current}
          keep={box.current}
          close={() => setOpen(false)}
          focus={false}
          width={box.current?.offsetWidth}
        >
          <div class="jf-drop" onMouseDown={(event: MouseEvent) => event.preventDefault()}>
            {many && page.total > 1 && (
              <div class="jf-pf is-top">
                <span>{count(values.length)} chosen</span>
                <span class="jf-gap" />
                {link(
                  "select-all",
                  text ? `Select ${count(total)} found` : `Select all ${count(total)}`,
                  () => void group("", false),
                )}
                {values.length > 0 && link("clear", "Clear", () => put([]))}
              </div>
            )}
            <Listbox
              id={list}
              label={field.label}
              query={query}
              on={on}
              options={options}
              chosen={values}
              several={many}
              groups={groups}
              extra={extra}
              pick={pick}
              more={next}
              group={group}
              ordered={many && !each && values.length > 1}
              empty={
                page.asking
                  ? "Listing…"
                  : query.startsWith("$")
                    ? "Enter uses your variable."
                    : page.total
                      ? "No match"
                      : page.note || "Nothing to choose"
              }
            />
            {!many && total > options.length && (
              <div class="jf-pf">
                {count(options.length)} of {count(total)}: type to search
              </div>
            )}
            <Source field={field} page={page}>
              {many &&
                page.total > 5 &&
                link("paste", "Paste a list…", () => (setOpen(false), setPasting(true)))}
            </Source>
          </div>
        </Popover>
      )}
      {pasting && input.current && (
        <Paste
          anchor={input.current}
          place={box.current}
          field={field}
          close={() => setPasting(false)}
          done={paste}
        />
      )}
    </div>
  );
}

const Chips = (props: ControlProps) => <Chooser {...props} many />;

const CONTROLS: Record<P.Control, (props: ControlProps) => ComponentChildren> = {
  choice: Chooser,
  several: Chips,
  flag: Segments,
  number: NumberBox,
  date: DateBox,
  text: TextBox,
  list: Chips,
  json: JsonBox,
};
