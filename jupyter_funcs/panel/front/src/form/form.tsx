import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isEach, several } from "./fieldmenu.js";
import { Field } from "./fields.js";
import { count, inert, size } from "./format.js";
import { Icon } from "./icons.js";
import { usePanel, useResize, useUniqueId } from "./state.js";

/** @import * as P from "./protocol.js" */

/** The inputs pane; folded to one line in narrow panels. */
export function Form() {
  const { view } = usePanel();
  // What is open or was shown belongs to one function.
  return html`<${Inputs} key=${view?.function?.id} />`;
}

function Inputs() {
  const { view, values, live, folded, fold, pressed, run } = usePanel();
  const [more, setMore] = useState(false);
  const [help, putHelp] = useState(/** @type {P.FieldView | null} */ (null));
  const latest = useRef({ help, isPressed: false });
  /** Help changes the height of the pane: nothing may move from under the pointer. @param {P.FieldView | null} field */
  const setHelp = (field) => ((latest.current.help = field), latest.current.isPressed || putHelp(field));
  const released = () => setTimeout(() => ((latest.current.isPressed = false), putHelp(latest.current.help)));
  const press = () => ((latest.current.isPressed = true), ["pointerup", "pointercancel"].forEach((kind) => addEventListener(kind, released, { once: true })));
  const [shown, setShown] = useState(/** @type {string[]} */ ([]));
  const pane = useRef(/** @type {HTMLElement | null} */ (null));
  const wanted = useRef("");
  const fields = view?.fields ?? [];
  const { missing = [], wrong = [] } = values ?? {};
  const hidden = fields.filter((field) => field.more);
  const hasMore = more || hidden.some((field) => (values?.fields[field.name]?.value ?? null) !== null || wrong.includes(field.name));

  /** Lead to a field, and say there what is missing. @param {string} name */
  const go = (name) => {
    wanted.current = name;
    setShown((names) => [...names, name]);
    if (hidden.some((field) => field.name === name)) setMore(true);
    fold(false);
  };
  useLayoutEffect(() => {
    const field = wanted.current && pane.current?.querySelector(`[data-jf="${CSS.escape(`field:${wanted.current}`)}"]`);
    if (!field) return;
    wanted.current = "";
    const control = /** @type {HTMLElement | null} */ (field.querySelector(":is(.jf-box, .jf-seg) :is(input, textarea, button)"));
    control?.focus({ preventScroll: true });
    field.scrollIntoView?.({ block: "nearest" });
  });
  useEffect(() => {
    setShown(pressed ? missing : []);
    const first = pressed && values && !values.valid && fields.find(({ name }) => missing.includes(name) || wrong.includes(name));
    if (first) go(first.name);
  }, [pressed]);
  // Cancel takes the focus of the inputs, and leaves it to Run before the next key, which would be the notebook's. Who has gone on keeps it.
  const held = pane.current?.querySelector(":focus");
  useLayoutEffect(() => {
    const next = run.state === "running" ? held && '[data-jf^="cancel"]' : held?.matches('[data-jf^="cancel"]') && '[data-jf^="run"]';
    if (next) /** @type {HTMLElement[]} */ ([...(pane.current?.querySelectorAll(next) ?? [])]).find((button) => button.offsetWidth)?.focus({ preventScroll: true });
  }, [run.state, folded]);

  const draw = (/** @type {P.FieldView} */ field) => html`<${Field} key=${field.name} field=${field} missing=${missing.includes(field.name) && shown.includes(field.name)} onHelp=${setHelp} />`;
  const isRed = wrong.length > 0 || missing.some((name) => shown.includes(name));
  return html`<section ref=${pane} class=${`jf-form ${folded ? "is-folded" : ""}`} aria-label="Inputs" data-jf="inputs" onPointerDown=${press}>
    <${Fold} fields=${fields} edit=${() => ((wanted.current = fields[0]?.name ?? ""), fold(false))} />
    <fieldset class="jf-fields" disabled=${live === "gone"} data-jf="form" aria-label=${view?.function?.name}>
      ${view?.function?.about && html`<p class="jf-about">${view.function.about}</p>`}
      ${view?.function?.changesData && html`<p class="jf-about is-warn"><${Icon} name="warn" size=${14} /> Changes data</p>`}
      ${fields.filter((field) => !field.more).map(draw)}
      ${!fields.length && html`<p class="jf-about">This function has no fields.</p>`}
      ${hidden.length > 0 && html`<button type="button" class="jf-more" data-jf="more-options" aria-expanded=${String(hasMore)} onClick=${() => setMore(!hasMore)}><${Icon} name="right" size=${14} />${hasMore ? "Fewer options" : `More options (${hidden.length})`}</button>`}
      ${hasMore && hidden.map(draw)}
    </fieldset>
    <div class="jf-foot" onFocusOut=${(/** @type {FocusEvent} */ { relatedTarget: next }) => pane.current?.contains(/** @type {Node | null} */ (next)) || setHelp(null)}>${run.state === "running" ? html`<${Running} />` : html`<${Foot} help=${help} isRed=${isRed} go=${go} />`}</div>
  </section>`;
}

/** Help of the focused field, what Run needs, and Run. @param {{ help: P.FieldView | null, isRed: boolean, go: (name: string) => void }} props */
function Foot({ help, isRed, go }) {
  const { view, values, live, submit, clear } = usePanel();
  const { missing = [], wrong = [], advice = [], runs = 1, valid = false } = values ?? {};
  const id = useUniqueId();
  const label = (/** @type {string} */ name) => view?.fields.find((field) => field.name === name)?.label ?? name;
  const link = (/** @type {string} */ name, /** @type {number} */ at) => html`${at ? ", " : ""}<button type="button" data-jf=${`reason:${name}`} onClick=${() => go(name)}>${label(name)}</button>`;
  const off = !valid || live === "gone";
  const why = /** @type {[string, string[]][]} */ ([["Missing: ", missing], ["Check: ", wrong]]).filter(([, names]) => names.length);
  const said = help && (help.brief || help.help);
  return html`
    ${said && live !== "gone" && html`<p class="jf-help" data-jf="help-line"><b>${help.label}: </b>${said.replaceAll("\n", " ")}</p>`}
    ${why.length > 0 && html`<p class=${`jf-missing ${isRed ? "" : "is-soft"}`} id=${id} data-jf="reason"><${Icon} name="err" size=${14} /><span>${why.map(([word, names], at) => html`${at ? " · " : ""}${word}${names.map(link)}`)}</span></p>`}
    ${advice.map((text) => html`<p class="jf-missing is-soft" role="status" data-jf="advice"><${Icon} name="warn" size=${14} /><span>${text}</span></p>`)}
    <div class="jf-acts">
      <button type="button" class="jf-btn is-main" data-jf="run" aria-disabled=${off ? "true" : undefined} aria-describedby=${why.length ? id : undefined} title="Ctrl+Enter" onClick=${() => live !== "gone" && void submit()}><${Icon} name="play" size=${14} fill=${true} />${runs > 1 ? `Run ${count(runs)} times` : "Run"}</button>
      <button type="button" class="jf-btn is-icon is-line" data-jf="clear" aria-label="Clear the form" title="Clear the form" disabled=${live === "gone"} onClick=${clear}><${Icon} name="undo" /></button>
    </div>`;
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
  return html`<span class="jf-num jf-quiet" data-jf=${hook}>${(elapsed + (performance.now() - told.current.at) / 1000).toFixed(1)} s</span>`;
}

/** A share of the runs that are done; without one, something that moves. @param {{ hook?: string }} props */
function Progress({ hook }) {
  const { done = 0, of = 0 } = usePanel().run.running ?? {};
  const known = of > 1;
  return html`<div class=${`jf-prog ${known ? "" : "is-open"}`} role=${hook && "progressbar"} aria-label=${hook && "Progress"} aria-valuenow=${hook && known ? Math.round((100 * done) / of) : undefined} data-jf=${hook}><i style=${known ? { width: `${(100 * done) / of}%` } : {}} /></div>`;
}

function Running() {
  const { run, ask, tell, live } = usePanel();
  const { note = "", bytes = 0, done = 0, of = 0 } = run.running ?? {};
  const state = live === "busy" ? "Waiting for the kernel…" : of > 1 ? `${count(done)} of ${count(of)} runs` : bytes ? `Receiving, ${size(bytes)}` : "Waiting for the service";
  return html`
    <div class="jf-progline"><span data-jf="progress-text">${[state, note].filter(Boolean).join(" · ")}</span><${Elapsed} /></div>
    <${Progress} hook="progress" />
    <div class="jf-acts"><button type="button" class="jf-btn is-line is-cancel" data-jf="cancel" onClick=${() => tell(ask("cancel", {}))}><${Icon} name="stop" size=${14} fill=${true} />Cancel</button></div>`;
}

/** A value as a chip of the folded form. @param {P.FieldView} field @param {P.FieldState} state @returns {string} */
function chip(field, state) {
  const { value } = state;
  if (value === undefined || value === null || field.control === "json") return "";
  if (typeof value === "object" && "variable" in value) return `$${value.variable}`;
  if (isEach(state)) return `${count(several(state).length)} × ${field.label}`;
  if (Array.isArray(value)) return value.length > 3 ? `${count(value.length)} × ${field.label}` : value.join(", ");
  if (field.control === "flag") return value === field.flag?.[0] ? field.label : `${field.label}: No`;
  return field.control === "date" || field.control === "number" ? `${field.label} ${value}` : String(value);
}

/** The values on one line; what does not fit is counted. @param {{ fields: P.FieldView[], edit: () => void }} props */
function Fold({ fields, edit }) {
  const { values, run, submit, ask, tell, live } = usePanel();
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [fits, setFits] = useState(Infinity);
  /** What is the default anyway comes last. @param {P.FieldView} field */
  const usual = ({ name, required, default: text }) => Number(!required && text !== null && values?.fields[name]?.value === text);
  const chips = [...fields].sort((a, b) => usual(a) - usual(b)).map((field) => chip(field, values?.fields[field.name] ?? {})).filter(Boolean);
  const text = chips.join("\n");
  useResize(box, ({ children }) => {
    const each = /** @type {HTMLElement[]} */ ([...children]);
    const top = each[0]?.offsetTop ?? 0;
    setFits(each.filter((one) => one.offsetTop < top + 8).length);
  }, [text]);
  const rest = chips.length - fits;
  const { done = 0, of = 1 } = run.running ?? {};
  return html`<div class="jf-fold" data-jf="fold">
    <div ref=${box} class="jf-fold-chips" role="group" aria-label="Values">${chips.map((one) => html`<span class="jf-chip is-plain" title=${one}><span>${inert(one)}</span></span>`)}</div>
    ${rest > 0 && html`<span class="jf-quiet jf-num" data-jf="fold-rest" title=${chips.slice(-rest).join(", ")}>+${rest}</span>`}
    ${run.state === "running" ? html`${of > 1 && html`<span class="jf-num jf-quiet">${count(done)} of ${count(of)} runs</span>`}<${Elapsed} hook="elapsed-folded" />
      <button type="button" class="jf-btn is-line" data-jf="cancel-folded" onClick=${() => tell(ask("cancel", {}))}><${Icon} name="stop" fill=${true} />Cancel</button><${Progress} />` : html`
      <button type="button" class="jf-btn is-line" data-jf="edit" title="Edit" disabled=${live === "gone"} onClick=${edit}><${Icon} name="pencil" />Edit</button>
      <button type="button" class="jf-btn is-line" data-jf="run-again" title="Run" disabled=${live === "gone"} onClick=${() => void submit()}><${Icon} name="play" fill=${true} />Run</button>`}
  </div>`;
}
