import { html } from "htm/preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { FieldTools, Paste, isEach, several } from "./fieldmenu.js";
import { count, inert, marked, plural } from "./format.js";
import { Icon } from "./icons.js";
import { Popover } from "./popover.js";
import { usePanel } from "./state.js";

/** @import * as P from "./protocol.js" */
/** @typedef {{ field: P.FieldView, state: P.FieldState, id: string, describe: string | undefined, bad: boolean }} ControlProps */
/** @typedef {{ state: P.FieldState, values: string[], each: boolean, put: (values: string[]) => void }} Several */

const PASTE = /[\r\n\t,;]/;
const MOST_CHIPS = 6;
const SEARCH_AFTER = 120; // milliseconds

/** @param {P.FieldState} state */
const bound = ({ value }) => (value && typeof value === "object" && "variable" in value ? value : null);

/** "just now", "5 min old". @param {number} at in seconds since 1970 */
function age(at) {
  const minutes = (Date.now() / 1000 - at) / 60;
  const of = (/** @type {number} */ n, /** @type {string} */ unit) => `${plural(Math.floor(n), unit)} old`;
  if (minutes >= 60) return minutes >= 1440 ? of(minutes / 1440, "day") : of(minutes / 60, "hour");
  return minutes < 1 ? "just now" : `${Math.floor(minutes)} min old`;
}

/** One field: its name, tools, control and what is said of it. @param {{ field: P.FieldView, missing: boolean, onHelp: (field: P.FieldView | null) => void }} props */
export function Field({ field, missing, onHelp }) {
  const { values, set } = usePanel();
  const id = useId();
  const [other, setOther] = useState(false);
  /** @type {P.FieldState} */
  const state = values?.fields[field.name] ?? {};
  const errors = state.errors?.length ? state.errors : missing ? [{ text: "Required", use: "", instead: "" }] : [];
  const [each, variable] = [isEach(state), bound(state)];
  const bad = errors.length > 0;
  const note = each || variable?.each ? "one run each" : field.control === "flag" && (state.value ?? null) === null && field.default !== null ? field.hint || `${field.default} (default)` : state.carried ? "carried over" : "";
  const lines = each && (field.control === "json" || field.control === "several" || field.control === "list");
  const control = variable ? Bound : lines ? Lines : each || Array.isArray(state.value) || field.control === "several" || field.control === "list" ? Chips : other && field.control === "flag" ? TextBox : CONTROLS[field.control];
  const said = [...errors.map((one) => ({ ...one, bad: true })), ...(state.warnings ?? []).map((one) => ({ ...one, bad: false }))];
  const fix = (/** @type {P.Message} */ { use, instead }) => {
    const fixed = several(state).map((one) => (one === instead ? use : one));
    set(field.name, isEach(state) ? { each: fixed } : instead ? fixed : use);
  };
  const blur = (/** @type {FocusEvent} */ event) => {
    if (!(/** @type {Element} */ (event.currentTarget).contains(/** @type {Node | null} */ (event.relatedTarget)))) onHelp(null);
  };
  const wide = field.control === "json" || lines;
  const place = useRef(/** @type {HTMLDivElement | null} */ (null));
  // What is wrong is read where it is typed, also at the foot of the pane.
  useLayoutEffect(() => {
    if (said.length && place.current?.contains(document.activeElement)) place.current.lastElementChild?.scrollIntoView?.({ block: "nearest" });
  }, [said.length]);
  return html`<div ref=${place} class=${`jf-field ${field.short && !each ? "is-short" : ""} ${wide ? "is-full" : ""} ${bad ? "is-bad" : said.length ? "is-warn" : ""}`} data-jf=${`field:${field.name}`} onFocusIn=${() => onHelp(field)} onFocusOut=${blur}>
    <div class="jf-label">
      <label for=${id} id=${`${id}l`} title=${field.label}>${field.label}${field.required && html`<span class="jf-req" aria-hidden="true">*</span><span class="jf-off"> (required)</span>`}</label>
      ${note && html`<span class="jf-note">${note}</span>`}
      <${FieldTools} field=${field} state=${state} onOther=${() => setOther(true)} />
    </div>
    <${control} field=${field} state=${state} id=${id} describe=${said.length ? `${id}e` : undefined} bad=${bad} />
    ${said.length > 0 && html`<div id=${`${id}e`}>
      ${said.map((one) => html`<div class=${`jf-err ${one.bad ? "" : "is-warn"}`} data-jf=${`${one.bad ? "error" : "warning"}:${field.name}`} role=${one.bad ? "alert" : "status"}>
        <${Icon} name=${one.bad ? "err" : "warn"} size=${14} />
        <span>${one.text} ${one.use && html`<button type="button" data-jf=${`fix:${field.name}`} onClick=${() => fix(one)}>${one.text.includes(one.use) ? "Use it" : `Use ${one.use}`}</button>`}</span>
      </div>`)}
    </div>`}
    ${state.notes?.map((text) => html`<div class="jf-each" role="status">${text}</div>`)}
    ${each && html`<div class="jf-each"><${Icon} name="each" size=${14} /><span>Runs once for each of ${plural(several(state).filter((one) => one.trim()).length, lines ? "line" : "value")}</span></div>`}
  </div>`;
}

/**
 * What is typed into a box; a text that isn't whole yet (`$na`, `2025-0`) stays here until Enter or until the box is left.
 * @param {ControlProps} props
 * @param {(text: string) => boolean} [isPart]
 */
function useTyped({ field, state }, isPart = (text) => text.startsWith("$")) {
  const { set, submit, tell } = usePanel();
  const [draft, setDraft] = useState(/** @type {string | null} */ (null));
  const latest = useRef(draft);
  latest.current = draft;
  const take = (/** @type {string} */ text) => (setDraft(null), (latest.current = null), set(field.name, text.trim() ? text : null));
  const commit = () => latest.current !== null && take(latest.current);
  return {
    text: draft ?? (typeof state.value === "string" ? state.value : ""),
    take,
    commit,
    /** @param {Event & { currentTarget: HTMLInputElement }} event */
    onInput: ({ currentTarget: { value } }) => (isPart(value) ? setDraft(value) : take(value)),
    onBlur: commit,
    /** @param {KeyboardEvent} event */
    onEnter: (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      commit();
      if (event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      void tell(submit());
    },
  };
}

/** @param {ControlProps} props */
function TextBox(props) {
  const { field, id, describe, bad } = props;
  const typed = useTyped(props);
  return html`<div class="jf-box"><input id=${id} autocomplete="off" spellcheck=${false} value=${typed.text} placeholder=${field.hint} aria-invalid=${bad ? "true" : undefined} aria-describedby=${describe} onInput=${typed.onInput} onBlur=${typed.onBlur} onKeyDown=${typed.onEnter} /></div>`;
}

/** @param {ControlProps} props */
function NumberBox(props) {
  const { field, id, describe, bad } = props;
  const { minimum: low, maximum: high } = field;
  const typed = useTyped(props);
  const now = Number(typed.text || NaN);
  const step = (/** @type {number} */ by) => {
    const from = Number.isFinite(now) ? now + by : Number(field.default ?? low ?? 0) + (field.default === null ? 0 : by);
    const next = Math.max(low ?? -Infinity, Math.min(high ?? Infinity, from));
    if (Number.isFinite(next)) typed.take(String(+next.toPrecision(12)));
  };
  const keys = (/** @type {KeyboardEvent} */ event) => {
    const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (by && field.strict) (event.preventDefault(), step(by));
    typed.onEnter(event);
  };
  const spin = field.strict ? { role: "spinbutton", "aria-valuemin": low ?? undefined, "aria-valuemax": high ?? undefined, "aria-valuenow": Number.isFinite(now) ? now : undefined, "aria-valuetext": typed.text || field.hint || "Empty" } : {};
  return html`<div class="jf-box">
    <input id=${id} inputmode=${field.integer ? "numeric" : "decimal"} class="jf-num" autocomplete="off" value=${typed.text} placeholder=${field.hint} aria-invalid=${bad ? "true" : undefined} aria-describedby=${describe} ...${spin} onInput=${typed.onInput} onBlur=${typed.onBlur} onKeyDown=${keys} />
    ${field.strict && html`<div class="jf-step">
      <button type="button" tabindex="-1" aria-label=${`${field.label}: less`} data-jf=${`less:${field.name}`} onClick=${() => step(-1)}><${Icon} name="minus" size=${12} /></button>
      <button type="button" tabindex="-1" aria-label=${`${field.label}: more`} data-jf=${`more:${field.name}`} onClick=${() => step(1)}><${Icon} name="plus" size=${12} /></button>
    </div>`}
  </div>`;
}

/** @param {ControlProps} props */
function DateBox(props) {
  const { field, state, id, describe, bad } = props;
  // A day is judged when its tenth character is typed; from then on at each key.
  const typed = useTyped(props, (text) => text.startsWith("$") || (text.length > 0 && text.length < 10 && !state.errors?.length && !state.warnings?.length));
  const native = useRef(/** @type {HTMLInputElement | null} */ (null));
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
  return html`<div class="jf-box">
    <input id=${id} class="jf-num" autocomplete="off" value=${typed.text} placeholder=${field.hint} aria-invalid=${bad ? "true" : undefined} aria-describedby=${describe} onInput=${typed.onInput} onBlur=${typed.onBlur} onKeyDown=${typed.onEnter} />
    <input ref=${native} type="date" class="jf-native" tabindex="-1" aria-hidden="true" onChange=${(/** @type {any} */ event) => typed.take(event.currentTarget.value)} />
    <button type="button" class="jf-mini" data-jf=${`calendar:${field.name}`} aria-label=${`${field.label}: open calendar`} onClick=${pick}><${Icon} name="cal" size=${14} /></button>
  </div>`;
}

/** Yes, no, or the default. @param {ControlProps} props */
function Segments(props) {
  const { field, state, id } = props;
  const { set } = usePanel();
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [yes, no] = field.flag ?? ["Yes", "No"];
  /** @type {[string | null, string][]} */
  const options = [...(field.required ? [] : [/** @type {[null, string]} */ ([null, field.default === null ? "Not set" : "Default"])]), [yes, "Yes"], [no, "No"]];
  const now = state.value ?? null;
  if (typeof now === "string" && !options.some(([value]) => value === now)) return html`<${TextBox} ...${props} />`;
  const at = options.findIndex(([value]) => value === now);
  const keys = (/** @type {KeyboardEvent} */ event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const next = (Math.max(at, 0) + by + options.length) % options.length;
    set(field.name, options[next][0]);
    /** @type {HTMLElement | undefined} */ (box.current?.querySelectorAll("button")[next])?.focus();
  };
  return html`<div ref=${box} class=${`jf-seg ${now === null ? "" : "is-set"}`} role="radiogroup" aria-labelledby=${`${id}l`} aria-required=${field.required ? "true" : undefined} onKeyDown=${keys}>
    ${options.map(([value, label], i) => html`<button type="button" role="radio" id=${i ? undefined : id} aria-checked=${String(value === now)} tabindex=${i === Math.max(at, 0) ? 0 : -1} data-jf=${`value:${field.name}:${label}`} onClick=${() => set(field.name, value)}>${label}</button>`)}
  </div>`;
}

/** @param {ControlProps} props */
function JsonBox(props) {
  const { field, id, describe, bad } = props;
  const typed = useTyped(props);
  return html`<div class="jf-box"><textarea id=${id} rows="3" spellcheck=${false} value=${typed.text} placeholder=${field.hint} aria-invalid=${bad ? "true" : undefined} aria-describedby=${describe} onInput=${typed.onInput} onBlur=${typed.onBlur} /></div>`;
}

/** Several lists or JSON values, a line each. @param {ControlProps} props */
function Lines({ field, state, id, describe }) {
  const { set } = usePanel();
  const [draft, setDraft] = useState(/** @type {string | null} */ (null));
  const input = (/** @type {any} */ { currentTarget: { value } }) => (setDraft(value), set(field.name, { each: value.split("\n") }));
  const hint = field.control === "json" ? "One JSON value per line" : "One list per line, with commas";
  return html`<div class="jf-box"><textarea id=${id} rows="3" spellcheck=${false} value=${draft ?? several(state).join("\n")} placeholder=${hint} aria-describedby=${describe} onInput=${input} onBlur=${() => setDraft(null)} /></div>`;
}

/** A variable of the notebook. @param {ControlProps} props */
function Bound({ field, state, id }) {
  const { set } = usePanel();
  const variable = bound(state);
  if (!variable) return null;
  return html`<div class="jf-box is-chips"><span class="jf-chip is-var" data-jf=${`variable:${field.name}`}>
    <span>$${variable.variable}<small>${inert(variable.about)}</small></span>
    <button type="button" id=${id} data-jf=${`unbind:${field.name}`} aria-label=${`Remove variable ${variable.variable}`} onClick=${() => set(field.name, null)}><${Icon} name="x" size=${12} /></button>
  </span></div>`;
}

/** @param {P.Option[]} options @param {string} query */
function matching(options, query) {
  const wanted = query.trim().toLowerCase();
  if (!wanted) return options;
  const words = wanted.split(/\s+/);
  const rank = (/** @type {P.Option} */ { value, label, group }) => {
    const [code, name] = [value.toLowerCase(), label.toLowerCase()];
    if (code.startsWith(wanted)) return 0;
    if (name.startsWith(wanted)) return 1;
    if (` ${name}`.includes(` ${wanted}`)) return 2;
    return words.every((word) => `${code} ${name} ${group.toLowerCase()}`.includes(word)) ? 3 : 4;
  };
  return options.map((option) => ({ option, place: rank(option) })).filter(({ place }) => place < 4).sort((a, b) => a.place - b.place).map(({ option }) => option);
}

/** @type {P.OptionPage} */
const NONE = { options: [], total: 0, note: "", at: null, again: false, asking: false };

/**
 * The options that match: searched here where the page has all of them, else by the kernel, a page at a time.
 * @param {P.FieldView} field
 * @param {P.FieldState} state
 * @param {string} query
 * @param {boolean} open
 */
export function useOptions(field, state, query, open) {
  const { ask, tell } = usePanel();
  const flags = (field.flag ?? []).map((value) => ({ value, label: "", group: "" }));
  const page = field.options ?? { ...NONE, options: flags, total: flags.length };
  const whole = page.options.length >= page.total;
  const [found, setFound] = useState(/** @type {P.OptionPage | null} */ (null));
  const wanted = useRef("");
  useEffect(() => {
    wanted.current = query;
    if (whole || !open) return setFound(null);
    const search = () => tell(ask("options", { field: field.name, query, from: 0 }).then((reply) => wanted.current === query && setFound(reply)));
    const timer = setTimeout(search, SEARCH_AFTER);
    return () => clearTimeout(timer);
  }, [query, whole, open, page]);
  const shown = whole ? matching(page.options, query) : (found ?? page).options;
  const total = whole ? shown.length : (found ?? page).total;
  const next = async () => {
    if (whole || !found || found.options.length >= found.total) return;
    const reply = await ask("options", { field: field.name, query, from: found.options.length });
    if (wanted.current === query) setFound({ ...found, options: [...found.options, ...reply.options.filter((one) => !found.options.some((old) => old.value === one.value))] });
  };
  /** All values that match, or those of one group. @param {string} group @returns {Promise<string[]>} */
  const all = async (group) => {
    if (whole) return shown.filter((one) => !group || one.group === group).map((one) => one.value);
    return (await ask("all_options", { field: field.name, group, query })).values;
  };
  return { page, shown, total, whole, next: () => void tell(next()), all };
}

/** Soon listed: Enter waits for what matches, rather than to take half a name. @param {P.OptionPage} page */
const waits = (page) => page.asking && page.note.startsWith("Listing");

/** Where the values come from, and a button that lists them again. @param {{ field: P.FieldView, page: P.OptionPage, children?: unknown }} props */
function Source({ field, page, children }) {
  const { ask, tell } = usePanel();
  if (!page.note && !children) return null;
  const old = page.at && !page.asking ? age(page.at) : "";
  return html`<div class="jf-pf is-source">${children}<span class="jf-gap" title=${page.note}>${!page.total && !page.asking ? "" : children && old ? old : `${inert(page.note)}${old && ` · ${old}`}`}</span>
    ${page.again && html`<button type="button" class="jf-btn is-icon" tabindex="-1" data-jf=${`ask:${field.name}`} aria-label="List them again" title="List them again" onClick=${() => tell(ask("list_again", { field: field.name }))}><${Icon} name="refresh" size=${14} /></button>`}
  </div>`;
}

/**
 * The list below a combobox, which keeps the focus: `aria-activedescendant` names the option at `on`.
 * @param {{ id: string, label: string, query: string, on: number, options: P.Option[], chosen: string[], several?: boolean, groups?: boolean, extra?: string, empty: string,
 *   pick: (at: number) => void, more: () => void, group?: (name: string, taken: boolean) => void, ordered?: boolean }} props
 */
function Listbox({ id, label, query, on, options, chosen, several: many = false, groups = false, extra = "", empty, pick, more, group, ordered = false }) {
  const list = useRef(/** @type {HTMLDivElement | null} */ (null));
  useLayoutEffect(() => list.current?.querySelector(".is-on")?.scrollIntoView?.({ block: "nearest" }), [on, options.length]);
  const scrolled = (/** @type {any} */ { currentTarget: box }) => box.scrollTop + box.clientHeight > box.scrollHeight - 200 && more();
  const held = new Set(chosen);
  const row = (/** @type {P.Option} */ option, /** @type {number} */ at) => html`<div key=${option.value} class=${`jf-opt ${at === on ? "is-on" : ""}`} role="option" id=${`${id}-${at}`} aria-selected=${String(held.has(option.value))} data-jf=${`option:${option.value}`} onClick=${() => pick(at)}>
    ${many && html`<span class="jf-check"><${Icon} name="check" size=${12} /></span>`}
    <span class="jf-code1">${marked(inert(option.value), query)}</span><span class="jf-name1">${marked(inert(option.label), query)}</span>
    ${ordered && held.has(option.value) && html`<span class="jf-quiet jf-num">${chosen.indexOf(option.value) + 1}</span>`}${!many && held.has(option.value) && html`<${Icon} name="check" size=${14} />`}
  </div>`;
  const names = groups ? [...new Set(options.map((option) => option.group))] : [""];
  return html`<div ref=${list} class="jf-list" role="listbox" id=${id} aria-label=${label} aria-multiselectable=${many ? "true" : undefined} onScroll=${scrolled}>
    ${names.map((name) => {
      const rows = options.map((option, at) => ({ option, at })).filter(({ option }) => !groups || option.group === name);
      const taken = rows.every(({ option }) => held.has(option.value));
      return html`${groups && html`<div class="jf-ph" role="presentation">${inert(name || "Others")} (${rows.length})<span class="jf-inline" aria-hidden="true" data-jf=${`group:${name}`} onClick=${() => group?.(name, taken)}>${taken ? "None" : "All"}</span></div>`}${rows.map(({ option, at }) => row(option, at))}`;
    })}
    ${extra && html`<div class=${`jf-opt ${on === options.length ? "is-on" : ""}`} role="option" id=${`${id}-${options.length}`} aria-selected="false" data-jf="other" onClick=${() => pick(options.length)}>${query ? html`<span class="jf-cut">Use “<b>${inert(extra)}</b>”</span>` : extra}</div>`}
    ${!options.length && !extra && html`<div class="jf-opt jf-quiet" role="option" aria-selected="false" aria-disabled="true">${empty}</div>`}
  </div>`;
}

/** One of few or many options, found by code or name. @param {ControlProps} props */
function Combo({ field, state, id, describe, bad }) {
  const { set, submit, tell } = usePanel();
  const value = typeof state.value === "string" ? state.value : "";
  const [draft, setDraft] = useState(/** @type {string | null} */ (null));
  const [open, setOpen] = useState(false);
  const [on, setOn] = useState(-1);
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const query = draft ?? "";
  const { page, shown, total, next } = useOptions(field, state, query.startsWith("$") ? "" : query, open);
  const exact = (/** @type {string} */ text) => [...shown, ...page.options].find((option) => option.value.toLowerCase() === text.trim().toLowerCase());
  const extra = !field.open || page.asking ? "" : query.trim() ? (exact(query) ? "" : query.trim()) : "Other…";
  const take = (/** @type {string} */ text) => (setDraft(null), setOpen(false), set(field.name, text.trim() || null));
  const commit = () => draft !== null && take(exact(draft)?.value ?? draft.trim());
  const start = () => (setOn(draft ? 0 : shown.findIndex((option) => option.value === value)), setOpen(true));
  const pick = (/** @type {number} */ at) => {
    if (shown[at]) return take(shown[at].value);
    if (query.trim()) return commit();
    setDraft("");
    setOpen(false);
  };
  const keys = (/** @type {KeyboardEvent} */ event) => {
    const rows = shown.length + (extra ? 1 : 0);
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) {
      event.preventDefault();
      if (!open) start();
      else if (rows) setOn((on + by + rows + (on < 0 && by < 0 ? 1 : 0)) % rows);
    } else if (event.key === "Enter" && !event.isComposing) {
      if (open && waits(page) && query.trim()) return event.preventDefault();
      if (open && on >= 0 && on < rows && !(event.ctrlKey || event.metaKey)) return (event.preventDefault(), pick(on));
      commit();
      setOpen(false);
      if (event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      if (!open) void tell(submit());
    } else if (event.key === "Escape" && open) {
      event.preventDefault();
      event.stopPropagation();
      setDraft(null);
      setOpen(false);
    }
  };
  const type = (/** @type {any} */ { currentTarget: { value: text } }) => (setDraft(text), setOpen(true), setOn(text.trim() && !text.startsWith("$") ? 0 : -1));
  const hit = page.options.find((option) => option.value === value);
  const list = `${id}o`;
  return html`<div ref=${box} class=${`jf-box ${value ? "has-value" : ""}`} onMouseDown=${(/** @type {MouseEvent} */ event) => event.target === box.current && (event.preventDefault(), input.current?.focus(), start())}>
    ${value && html`<div class="jf-shown" aria-hidden="true"><span>${inert(value)}</span>${hit?.label && html`<span class="is-name">${inert(hit.label)}</span>`}</div>`}
    <input ref=${input} id=${id} role="combobox" aria-expanded=${String(open)} aria-autocomplete="list" aria-controls=${list} aria-activedescendant=${open && on >= 0 ? `${list}-${on}` : undefined} aria-invalid=${bad ? "true" : undefined} aria-describedby=${describe} aria-required=${field.required ? "true" : undefined}
      autocomplete="off" spellcheck=${false} value=${draft ?? value} placeholder=${draft === "" ? "Type any value" : field.hint} onFocus=${() => input.current?.select()} onClick=${() => open || start()} onInput=${type} onKeyDown=${keys} onBlur=${() => (commit(), setDraft(null), setOpen(false))} />
    <button type="button" class="jf-mini" tabindex="-1" data-jf=${`show:${field.name}`} aria-label=${`${field.label}: show values`} onMouseDown=${(/** @type {MouseEvent} */ event) => (event.preventDefault(), input.current?.focus(), open ? setOpen(false) : start())}><${Icon} name="chev" size=${14} /></button>
    ${open && input.current && html`<${Popover} anchor=${input.current} keep=${box.current} close=${() => setOpen(false)} focus=${false} width=${box.current?.offsetWidth}>
      <div class="jf-drop" onMouseDown=${(/** @type {MouseEvent} */ event) => event.preventDefault()}>
        <${Listbox} id=${list} label=${field.label} query=${query} on=${on} options=${shown} chosen=${value ? [value] : []} extra=${extra} pick=${pick} more=${next} empty=${page.asking ? "Listing…" : query.startsWith("$") ? "Enter uses your variable." : page.total ? "No match" : page.note || "Nothing to choose"} />
        ${total > shown.length && html`<div class="jf-pf">${count(shown.length)} of ${count(total)}: type to search</div>`}
        <${Source} field=${field} page=${page} />
      </div>
    <//>`}
  </div>`;
}

/** Several values: chips, and a list with all, by group and pasting where there are options. @param {ControlProps} props */
function Chips({ field, state, id, describe, bad }) {
  const { ask, announce, set, submit, tell, toast } = usePanel();
  const [each, values] = [isEach(state), several(state)];
  const [text, setText] = useState("");
  const [open, setOpen] = useState(false);
  const [on, setOn] = useState(-1);
  const [pasting, setPasting] = useState(false);
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const { page, shown, total, whole, next, all } = useOptions(field, state, text, open);
  const choosable = field.options !== null || field.flag !== null;
  const grouped = !text && whole && shown.some((option) => option.group);
  const options = grouped ? [...new Set(shown.map((option) => option.group))].flatMap((name) => shown.filter((option) => option.group === name)) : shown;
  const put = (/** @type {string[]} */ list) => {
    const one = [...new Set(list)];
    set(field.name, each ? { each: one } : one.length ? one : null);
    announce(`${plural(one.length, "value")} chosen`);
  };
  const toggle = (/** @type {string} */ value) => put(values.includes(value) ? values.filter((one) => one !== value) : [...values, value]);
  const found = (/** @type {string} */ name) => page.options.find((option) => option.value.toLowerCase() === name.toLowerCase())?.value ?? name;
  const add = () => text.trim() && (put([...values, found(text.trim())]), setText(""));
  const paste = (/** @type {string} */ pasted) => tell(ask("paste", { field: field.name, text: pasted }).then((reply) => {
    put([...values, ...reply.values]);
    const missed = reply.unknown.length;
    toast(`${plural(reply.values.length, "value")} pasted${missed ? `, ${count(missed)} not in the list` : ""}`);
  }));
  const start = () => choosable && (setOpen(true), setOn(-1));
  const extra = text.trim() && field.open && !page.options.some((option) => option.value.toLowerCase() === text.trim().toLowerCase()) ? text.trim() : "";
  const pick = (/** @type {number} */ at) => (options[at] ? toggle(options[at].value) : add(), setText(""));
  const keys = (/** @type {KeyboardEvent} */ event) => {
    const rows = options.length + (extra ? 1 : 0);
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const modified = event.ctrlKey || event.metaKey;
    if (by && choosable) {
      event.preventDefault();
      if (!open) start();
      else if (rows) setOn((on + by + rows + (on < 0 && by < 0 ? 1 : 0)) % rows);
    } else if (event.key === "Enter" && !event.isComposing) {
      if (modified) return void add();
      event.preventDefault();
      if (open && waits(page) && text.trim()) return;
      if (open && rows && (on >= 0 || text)) pick(Math.max(on, 0));
      else if (text.trim()) add();
      else if (!open) void tell(submit());
    } else if (event.key === "Escape" && open) (event.preventDefault(), event.stopPropagation(), setOpen(false));
    else if (event.key === "Backspace" && !text && values.length) put(values.slice(0, -1));
  };
  const pasted = (/** @type {ClipboardEvent} */ event) => {
    const clip = event.clipboardData?.getData("text") ?? "";
    if (PASTE.test(clip)) (event.preventDefault(), paste(clip));
  };
  const chips = values.length > MOST_CHIPS ? values.slice(0, 4) : values;
  const short = shortened(chips);
  const list = `${id}o`;
  const takeAll = () => tell(all("").then((more) => put([...values, ...more])));
  const group = (/** @type {string} */ name, /** @type {boolean} */ taken) => tell(all(name).then((of) => put(taken ? values.filter((one) => !of.includes(one)) : [...values, ...of])));
  return html`<div ref=${box} class=${`jf-box is-chips ${choosable ? "" : "is-free"}`} onMouseDown=${(/** @type {MouseEvent} */ event) => event.target === box.current && (event.preventDefault(), input.current?.focus(), start())}>
    ${chips.map((value) => html`<span key=${value} class=${`jf-chip ${state.unknown?.includes(value) ? "is-bad" : ""}`}><span title=${value}>${inert(short(value))}</span><button type="button" data-jf=${`remove:${field.name}:${value}`} aria-label=${`Remove ${value}`} onClick=${() => (put(values.filter((one) => one !== value)), input.current?.focus())}><${Icon} name="x" size=${12} /></button></span>`)}
    ${values.length > chips.length && html`<span class="jf-chip"><button type="button" class="jf-chip-more" data-jf=${`chips-more:${field.name}`} onClick=${() => (input.current?.focus(), start())}>+${count(values.length - chips.length)} more</button></span>`}
    <input ref=${input} id=${id} class=${values.length ? "" : "is-alone"} role=${choosable ? "combobox" : undefined} aria-expanded=${choosable ? String(open) : undefined} aria-controls=${choosable ? list : undefined} aria-autocomplete=${choosable ? "list" : undefined} aria-activedescendant=${open && on >= 0 ? `${list}-${on}` : undefined}
      aria-label=${`${field.label}, ${count(values.length)} chosen`} aria-invalid=${bad ? "true" : undefined} aria-describedby=${describe} autocomplete="off" spellcheck=${false} value=${text} placeholder=${values.length ? "" : choosable ? field.hint : "Type, Enter adds"}
      onClick=${() => open || start()} onInput=${(/** @type {any} */ event) => (setText(event.currentTarget.value), start(), setOn(event.currentTarget.value ? 0 : -1))} onKeyDown=${keys} onPaste=${pasted} onBlur=${() => (add(), setOpen(false))} />
    ${choosable && html`<button type="button" class="jf-mini" tabindex="-1" data-jf=${`show:${field.name}`} aria-label=${`${field.label}: show values`} onMouseDown=${(/** @type {MouseEvent} */ event) => (event.preventDefault(), input.current?.focus(), open ? setOpen(false) : start())}><${Icon} name="chev" size=${14} /></button>`}
    ${open && input.current && html`<${Popover} anchor=${input.current} keep=${box.current} close=${() => setOpen(false)} focus=${false} width=${box.current?.offsetWidth}>
      <div class="jf-drop" onMouseDown=${(/** @type {MouseEvent} */ event) => event.preventDefault()}>
        ${page.total > 1 && html`<div class="jf-pf is-top"><span>${count(values.length)} chosen</span><span class="jf-gap" />
          <button type="button" class="jf-btn is-link" tabindex="-1" data-jf=${`select-all:${field.name}`} onClick=${takeAll}>${text ? `Select ${count(total)} found` : `Select all ${count(total)}`}</button>
          ${values.length > 0 && html`<button type="button" class="jf-btn is-link" tabindex="-1" data-jf=${`clear:${field.name}`} onClick=${() => put([])}>Clear</button>`}
        </div>`}
        <${Listbox} id=${list} label=${field.label} query=${text} on=${on} options=${options} chosen=${values} several=${true} groups=${grouped} extra=${extra} pick=${pick} more=${next} group=${group} ordered=${!each && values.length > 1} empty=${page.asking ? "Listing…" : page.total ? "No match" : page.note || "Nothing to choose"} />
        <${Source} field=${field} page=${page}>${page.total > 5 && html`<button type="button" class="jf-btn is-link" tabindex="-1" data-jf=${`paste:${field.name}`} onClick=${() => (setOpen(false), setPasting(true))}>Paste a list…</button>`}<//>
      </div>
    <//>`}
    ${pasting && input.current && html`<${Paste} anchor=${input.current} place=${box.current} field=${field} close=${() => setPasting(false)} done=${paste} />`}
  </div>`;
}

/** Chips leave out the words that all values end with, as long as those are several: "KORD" of "KORD US EQUITY". @param {string[]} values */
export function shortened(values) {
  const words = values.map((value) => value.split(" "));
  let end = 0;
  while (values.length > 1 && words.every((each) => each.length > end + 1 && each[each.length - 1 - end] === words[0][words[0].length - 1 - end])) end += 1;
  return (/** @type {string} */ value) => (end > 1 ? value.split(" ").slice(0, -end).join(" ") : value);
}

/** @type {Record<P.Control, (props: ControlProps) => unknown>} */
const CONTROLS = { choice: Combo, several: Chips, flag: Segments, number: NumberBox, date: DateBox, text: TextBox, list: Chips, json: JsonBox };
