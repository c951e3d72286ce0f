import { html } from "htm/preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Chart } from "./chart.js";
import { Code } from "./code.js";
import { mended } from "./fieldmenu.js";
import { count, plural } from "./format.js";
import { Grid } from "./grid.js";
import { Button, Icon } from "./icons.js";
import { JsonTree } from "./jsontree.js";
import { Menu, NameForm, Popover } from "./popover.js";
import { arrows, download, usePanel, useUniqueId } from "./state.js";

/** @import * as P from "./protocol.js" */
/** @import { MenuItem } from "./popover.js" */
/** @typedef {"csv" | "xlsx" | "parquet" | "json"} Format */

/** @type {[P.Tab, string][]} */
const TABS = [["table", "Table"], ["chart", "Chart"], ["json", "JSON"], ["code", "Code"]];
/** @type {[Format, string][]} */
const FORMATS = [["csv", "CSV"], ["xlsx", "Excel"], ["parquet", "Parquet"], ["json", "JSON"]];

export function Result() {
  const { run } = usePanel();
  const { result, error, partial, running } = run;
  const blank = !result && !running && !error;
  return html`<section class=${`jf-result ${blank ? "is-blank" : ""}`} aria-label="Result" data-jf="result" aria-busy=${running ? "true" : undefined}>
    ${running && html`<div class="jf-busyline"><i /></div>`}
    ${error && html`<${Failure} error=${error} earlier=${Boolean(result)} />`}
    ${partial && !running && html`<${Partial} partial=${partial} />`}
    ${result ? html`<${Shown} result=${result} />` : running ? html`<${Skeleton} />` : error ? html`<div class="jf-blank"><span>No result yet.</span></div>` : html`<${Blank} />`}
  </section>`;
}

/** @param {{ result: P.ResultView }} props */
function Shown({ result }) {
  const { run, tab } = usePanel();
  const id = useUniqueId();
  const visited = useRef(false);
  visited.current ||= tab === "table";
  return html`<${Bar} result=${result} id=${id} />
    ${run.warnings.length > 0 && html`<${Warnings} lines=${run.warnings} key=${result.number} />`}
    <div class=${`jf-view ${run.running ? "jf-stale" : ""}`} id=${id} role="tabpanel" aria-disabled=${run.running ? "true" : undefined} aria-label=${TABS.find(([name]) => name === tab)?.[1]} data-jf="view">
      ${visited.current && html`<div class="jf-view" hidden=${tab !== "table"} key=${result.number}><${Grid} result=${result} /></div>`}
      ${tab === "json" && !result.json.possible
        ? html`<div class="jf-blank" data-jf="json-empty"><b>Nothing to show</b><span>${result.json.why}</span></div>`
        : tab === "chart" ? html`<${Chart} result=${result} />` : tab === "json" ? html`<${JsonTree} result=${result} key=${result.number} />` : tab === "code" && html`<${Code} result=${result} />`}
    </div>`;
}

/** @param {{ result: P.ResultView, id: string }} props */
function Bar({ result, id }) {
  const { tab, showTab, values, live, view } = usePanel();
  const [at, open] = useState(/** @type {HTMLElement | null} */ (null));
  const off = live === "gone";
  const keys = (/** @type {KeyboardEvent} */ event) => /Up|Down/.test(event.key) || arrows(event, TABS.findIndex(([name]) => name === tab), TABS.length, (at) => showTab(TABS[at][0]));
  return html`<div class="jf-bar">
    <div class="jf-tabs" role="tablist" aria-label="Result" onKeyDown=${keys}>${TABS.map(([name, label]) => html`<button type="button" role="tab" key=${name} data-jf=${`tab:${name}`}
      aria-selected=${String(tab === name)} aria-controls=${id} tabindex=${tab === name ? 0 : -1} onClick=${() => showTab(name)}><span data-t=${label}>${label}</span></button>`)}</div>
    <div class="jf-bar-right">
      ${values?.changed && html`<span class="jf-badge jf-changed" data-jf="changed" title="The inputs differ from those of this result."><span class="jf-wide-only">inputs </span>changed</span>`}
      <span class="jf-stat jf-num" data-jf="summary" title=${result.summary}>${result.summary}</span>
      ${(result.variable || result.lost) && html`<${Name} result=${result} off=${off || !view?.trusted} />`}
      <${Button} data-jf="save" icon="save" kind="is-line" label="Save" chev aria-haspopup="menu" aria-expanded="false" disabled=${off}
        onClick=${(/** @type {any} */ event) => open(at ? null : event.currentTarget)} />
      ${at && !off && html`<${Save} result=${result} anchor=${at} close=${() => open(null)} />`}
    </div>
  </div>`;
}

/** The variable's name, renamed in place, or assigned again where the notebook has taken it. @param {{ result: P.ResultView, off: boolean }} props */
function Name({ result: { variable: name, lost, note }, off }) {
  const { ask, tell, toast } = usePanel();
  const [editing, edit] = useState(false);
  const [taken, setTaken] = useState({ name: "", why: "" });
  const leave = () => setTaken({ name: "", why: "" });
  const [refused, refuse] = useState({ name: "", why: "" });
  const box = useRef(/** @type {HTMLInputElement | null} */ (null));
  const back = useRef(/** @type {HTMLButtonElement | null} */ (null));
  const was = useRef(false);
  useLayoutEffect(() => {
    if (editing) {
      box.current?.focus();
      box.current?.select();
    }
    was.current = editing;
  }, [editing]);
  const done = (/** @type {boolean} */ keep, stays = false) => {
    // A box that goes away says "blur" once more.
    if (!was.current) return;
    was.current = false;
    edit(false);
    const wanted = box.current?.value.trim();
    if (keep && wanted && wanted !== name) rename(wanted, false, stays);
    else refuse({ name: "", why: "" });
  };
  const rename = (/** @type {string} */ wanted, /** @type {boolean} */ replace, stays = false) => {
    leave();
    refuse({ name: "", why: "" });
    const renamed = ask("rename", { name: wanted, replace });
    void tell(renamed.then(({ variable, note, exists }) => (exists ? setTaken({ name: wanted, why: note }) : toast(note || `The result is now ${variable}.`)), stays ? (error) => (refuse({ name: wanted, why: error.message }), edit(true)) : undefined));
  };
  const keys = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    done(event.key === "Enter", true);
  };
  if (editing) {
    return html`<span class="jf-renaming"><input ref=${box} class="jf-var-edit" aria-invalid=${refused.why ? "true" : undefined} data-jf="var-name-input" aria-label="Name of the variable" spellcheck=${false} maxlength="100" defaultValue=${refused.name || name} onKeyDown=${keys} onBlur=${() => done(true)} />
      ${refused.why && html`<p class="jf-err" role="alert">${refused.why}</p>`}</span>`;
  }
  return html`<button ref=${back} type="button" class=${`jf-var ${name ? "" : "jf-changed"}`} data-jf=${name ? "var-name" : "var-assign"} title=${`${note || "The DataFrame of this result."}${off ? "" : name ? " Click to rename." : " Click to assign it again."}`} disabled=${off}
    onClick=${() => (name ? edit(true) : rename(lost, false))}><span class="jf-cut">${name || `Assign ${lost}`}</span>${!off && html`<${Icon} name=${name ? "pencil" : "undo"} size=${12} />`}</button>
    ${taken.name && back.current && html`<${Popover} anchor=${back.current} close=${leave} label="Replace a variable" role="alertdialog" width=${248} right>
      <div class="jf-form2"><p>${taken.why}</p>
        <div class="jf-acts"><${Button} label="Cancel" data-jf="var-keep" onClick=${leave} /><button type="button" class="jf-btn is-main" data-jf="var-replace" onClick=${() => rename(taken.name, true)}>Replace ${taken.name}</button></div></div>
    <//>`}`;
}

/** @param {{ result: P.ResultView, anchor: HTMLElement, close: () => void }} props */
function Save({ result, anchor, close }) {
  const { ask, tell, toast, query, view } = usePanel();
  const files = Boolean(view?.trusted);
  const [downloads, setDownload] = useState(!files);
  const part = query.filters.length > 0 || query.find !== "" || query.sort.length > 0;
  const [filtered, setFiltered] = useState(part);
  const [naming, setNaming] = useState(/** @type {string[] | null} */ (null));
  const save = (/** @type {Format} */ format, /** @type {string} */ name, replace = false) =>
    ask("save", { run: result.number, format, name, replace, filtered: filtered ? query : null, download: downloads }, 600_000).then((reply) => {
      if (reply.exists) return setNaming([reply.name]), reply.name;
      if (reply.data) download(reply.name, URL.createObjectURL(new Blob([Uint8Array.from(atob(reply.data), (each) => each.charCodeAt(0))])));
      close();
      toast(reply.said);
      return "";
    });
  const name = (/** @type {Format} */ format) => `${result.variable || result.lost || result.function}.${format}`;
  const saveAs = async (/** @type {string} */ wanted, /** @type {boolean} */ replace) => {
    const format = FORMATS.find(([each]) => wanted.toLowerCase().endsWith(`.${each}`))?.[0];
    if (!format) throw new Error("End the name with .csv, .xlsx, .parquet or .json.");
    return save(format, wanted, replace);
  };
  if (naming) return html`<${NameForm} anchor=${anchor} close=${close} title="Save as" label="File beside the notebook" hook="save" start=${naming[0] ?? name("csv")} taken=${naming} save=${saveAs} />`;
  /** @type {MenuItem[]} */
  const items = [
    { head: `${downloads ? "Download" : "Save"} ${filtered ? "the rows of the table" : plural(result.table.rows, "row")}${downloads ? "" : " in this folder"}` },
    ...FORMATS.map(([format, label]) => ({ label, small: name(format), jf: `save:${format}`, stay: true, click: () => void tell(save(format, name(format))) })),
    "-",
  ];
  if (part) items.push({ label: "As the table shows them", small: "Filtered and sorted", checked: filtered, jf: "save-filtered", stay: true, click: () => setFiltered(!filtered) });
  if (files) items.push({ label: "Download in the browser", checked: downloads, jf: "save-download", stay: true, click: () => setDownload(!downloads) });
  if (!downloads) items.push({ label: "Save as…", icon: "pencil", jf: "save-as", stay: true, click: () => setNaming([]) });
  if (items.at(-1) === "-") items.pop();
  return html`<${Menu} anchor=${anchor} close=${close} label="Save" items=${items} width=${248} right />`;
}

/** @param {{ error: P.ErrorView, earlier: boolean }} props */
function Failure({ error, earlier }) {
  const { ask, tell, set, submit, copy, live, values, run } = usePanel();
  const [open, setOpen] = useState(false);
  const off = live === "gone";
  const fix = (/** @type {P.ErrorView["fixes"][0]} */ each) => {
    set(each.field, mended(values?.fields[each.field] ?? {}, each));
    void submit();
  };
  return html`<div class="jf-contents" role="alert" data-jf="error">
    <div class=${`jf-banner ${run.state === "cancelled" ? "is-warn" : "is-bad"}`}><${Icon} name="err" />
      <div class="jf-btxt"><b>${error.what}</b> ${error.hint}${earlier && " The result below is from an earlier run."}</div>
      <div class="jf-bact">
        ${error.fixes.map((each) => html`<${Button} kind="is-line" label=${each.text} data-jf=${`error-fix:${each.field}`} disabled=${off} onClick=${() => fix(each)} />`)}
        ${error.done > 0 && html`<${Button} kind="is-line" label=${`Show ${plural(error.done, "finished run")}`} data-jf="so-far" disabled=${off} onClick=${() => void tell(ask("so_far", {}))} />`}
        ${error.retry && html`<${Button} kind="is-line" label="Try again" data-jf="retry" disabled=${off} onClick=${() => void tell(ask("retry", {}))} />`}
        ${error.details && html`<${Button} label="Details" chev data-jf="error-details" aria-expanded=${String(open)} onClick=${() => setOpen(!open)} />`}
        <${Button} icon="x" aria="Dismiss" data-jf="dismiss" disabled=${off} onClick=${() => void tell(ask("dismiss", {}))} />
      </div>
    </div>
    ${open && html`<div class="jf-details" tabindex="0">${error.details}<${Button} kind="is-line" icon="copy" label="Copy details" data-jf="error-copy" onClick=${() => void copy(error.details)} /></div>`}
  </div>`;
}

/** @param {{ partial: NonNullable<P.Run["partial"]> }} props */
function Partial({ partial }) {
  const { ask, tell, live } = usePanel();
  const [open, setOpen] = useState(false);
  const { failed, of, rows } = partial;
  const named = rows.slice(0, 3).map(({ label }) => label);
  const retry = (/** @type {number[]} */ which) => void tell(ask("retry_failed", { rows: which }));
  return html`<div class="jf-contents" data-jf="partial">
    <div class="jf-banner is-warn" role="status"><${Icon} name="warn" />
      <div class="jf-btxt"><b>${count(of - failed)} of ${plural(of, "run")} done.</b> Failed: ${named.join("; ")}${failed > named.length && `; and ${count(failed - named.length)} more`}.</div>
      <div class="jf-bact">
        <${Button} kind="is-line" icon="refresh" label=${`Retry ${plural(failed, "run")}`} data-jf="retry-failed" disabled=${live === "gone"} onClick=${() => retry([])} />
        <${Button} label="Show them" chev data-jf="failed-runs" aria-expanded=${String(open)} onClick=${() => setOpen(!open)} />
      </div>
    </div>
    ${open && html`<ul class="jf-faillist" tabindex="0">${rows.map((row, at) => html`<li key=${row.label} data-jf=${`failed:${row.label}`}><code>${row.label}</code><span>${row.error}</span>
      <${Button} kind="is-link" label="Retry" aria=${`Retry ${row.label}`} data-jf=${`retry:${row.label}`} disabled=${live === "gone"} onClick=${() => retry([at])} /></li>`)}
      ${rows.length < failed && html`<li class="jf-quiet">and ${count(failed - rows.length)} more</li>`}</ul>`}
  </div>`;
}

/** What the run warned of: the first line, and the others on demand. @param {{ lines: string[] }} props */
function Warnings({ lines }) {
  const [open, setOpen] = useState(lines.length <= 2);
  return html`<div class="jf-banner is-warn jf-warned" role="status" data-jf="warnings"><${Icon} name="warn" />
    <div class="jf-btxt">${(open ? lines : lines.slice(0, 1)).map((line) => html`<p key=${line}>${line}</p>`)}</div>
    ${!open && html`<${Button} label=${`${lines.length - 1} more`} chev aria-expanded="false" data-jf="warnings-more" onClick=${() => setOpen(true)} />`}
  </div>`;
}

function Blank() {
  const { view, ask, tell, live } = usePanel();
  const { id = "", example = "" } = view?.function ?? {};
  return html`<div class="jf-blank" data-jf="blank">
    <svg class="jf-ghost" width="72" height="44" viewBox="0 0 72 44" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      <path d="M2 42h68M6 32l12-8 10 5 12-14 12 6 14-16" /><path d="M6 38l12-3 10 1 12-6 12 2 14-7" opacity="0.5" />
    </svg>
    <b>The result appears here</b><span>Fill in the form and run it${example && ", or start from an example"}.</span>
    ${example && html`<${Button} kind="is-line" icon="play" label=${`Try: ${example}`} data-jf="try" disabled=${live === "gone"} onClick=${() => void tell(ask("example", { function: id }))} />`}
  </div>`;
}

function Skeleton() {
  return html`<div class="jf-skel" role="status" aria-label="Running"><span class="jf-quiet">Running. The result appears here.</span>
    ${Array.from({ length: 12 }, (_, row) => html`<div style=${{ opacity: 1 - row * 0.07 }}>${[96, 90, 110, 84, 100, 84].map((width, at) => html`<i style=${{ width: `${40 + ((width * (row + 3) * (at + 7)) % 50)}%` }} />`)}</div>`)}
  </div>`;
}
