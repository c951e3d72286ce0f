import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Chart } from "../chart/chart";
import { count, plural } from "../core/format";
import { Button, Icon } from "../core/icons";
import type { MenuItem } from "../core/popover";
import { Menu, NameForm, Popover } from "../core/popover";
import type * as P from "../core/protocol";
import { arrows, download, usePanel, useUniqueId } from "../core/state";
import { mended } from "../form/fieldstate";
import { Grid } from "../table/grid";
import { Code } from "./code";
import { JsonTree } from "./jsontree";
export type Format = "csv" | "xlsx" | "parquet" | "json";

const TABS: [P.Tab, string][] = [
  ["table", "Table"],
  ["chart", "Chart"],
  ["json", "JSON"],
  ["code", "Code"],
];
const FORMATS: [Format, string][] = [
  ["csv", "CSV"],
  ["xlsx", "Excel"],
  ["parquet", "Parquet"],
  ["json", "JSON"],
];

export function Result() {
  const { run } = usePanel();
  const { result, error, partial, running } = run;
  const blank = !result && !running && !error;
  return (
    <section
      class={`jf-result ${blank ? "is-blank" : ""}`}
      aria-label="Result"
      data-jf="result"
      aria-busy={running ? "true" : undefined}
    >
      {running && (
        <div class="jf-busyline">
          <i />
        </div>
      )}
      {error && <Failure error={error} earlier={Boolean(result)} />}
      {partial && !running && <Partial partial={partial} />}
      {result ? (
        <Shown result={result} />
      ) : running ? (
        <Skeleton />
      ) : error ? (
        <div class="jf-blank">
          <span>No result yet.</span>
        </div>
      ) : (
        <Blank />
      )}
    </section>
  );
}

function Shown({ result }: { result: P.ResultView }) {
  const { run, tab } = usePanel();
  const id = useUniqueId();
  const visited = useRef(false);
  visited.current ||= tab === "table";
  return (
    <>
      <Bar result={result} id={id} />
      {run.warnings.length > 0 && <Warnings lines={run.warnings} key={result.number} />}
      <div
        class={`jf-view ${run.running ? "jf-stale" : ""}`}
        id={id}
        role="tabpanel"
        aria-disabled={run.running ? "true" : undefined}
        aria-label={TABS.find(([name]) => name === tab)?.[1]}
        data-jf="view"
      >
        {visited.current && (
          <div class="jf-view" hidden={tab !== "table"} key={result.number}>
            <Grid result={result} />
          </div>
        )}
        {tab === "json" && !result.json.possible ? (
          <div class="jf-blank" data-jf="json-empty">
            <b>Nothing to show</b>
            <span>{result.json.why}</span>
          </div>
        ) : tab === "chart" ? (
          <Chart result={result} />
        ) : tab === "json" ? (
          <JsonTree result={result} key={result.number} />
        ) : (
          tab === "code" && <Code result={result} />
        )}
      </div>
    </>
  );
}

function Bar({ result, id }: { result: P.ResultView; id: string }) {
  const { tab, showTab, values, live, view } = usePanel();
  const [at, open] = useState<HTMLElement | null>(null);
  const off = live === "gone";
  const keys = (event: KeyboardEvent) =>
    /Up|Down/.test(event.key) ||
    arrows(
      event,
      TABS.findIndex(([name]) => name === tab),
      TABS.length,
      (at) => showTab(TABS[at][0]),
    );
  return (
    <div class="jf-bar">
      <div class="jf-tabs" role="tablist" aria-label="Result" onKeyDown={keys}>
        {TABS.map(([name, label]) => (
          <button
            type="button"
            role="tab"
            key={name}
            data-jf={`tab:${name}`}
            aria-selected={tab === name}
            aria-controls={id}
            tabindex={tab === name ? 0 : -1}
            onClick={() => showTab(name)}
          >
            <span data-t={label}>{label}</span>
          </button>
        ))}
      </div>
      <div class="jf-bar-right">
        {values?.changed && (
          <span
            class="jf-badge jf-changed"
            data-jf="changed"
            title="The inputs differ from those of this result."
          >
            <span class="jf-wide-only">inputs </span>changed
          </span>
        )}
        <span class="jf-stat jf-num" data-jf="summary" title={result.summary}>
          {result.summary}
        </span>
        {(result.variable || result.lost) && <Name result={result} off={off || !view?.trusted} />}
        <Button
          data-jf="save"
          icon="save"
          kind="is-line"
          label="Save"
          chev
          aria-haspopup="menu"
          aria-expanded="false"
          disabled={off}
          onClick={(event: any) => open(at ? null : event.currentTarget)}
        />
        {at && !off && <Save result={result} anchor={at} close={() => open(null)} />}
      </div>
    </div>
  );
}

/** The variable's name, renamed in place, or assigned again where the notebook has taken it. */
function Name({
  result: { variable: name, lost, note },
  off,
}: {
  result: P.ResultView;
  off: boolean;
}) {
  const { ask, tell, toast } = usePanel();
  const [editing, edit] = useState(false);
  const [taken, setTaken] = useState({ name: "", why: "" });
  const leave = () => setTaken({ name: "", why: "" });
  const [refused, refuse] = useState({ name: "", why: "" });
  const box = useRef<HTMLInputElement | null>(null);
  const back = useRef<HTMLButtonElement | null>(null);
  const was = useRef(false);
  useLayoutEffect(() => {
    if (editing) {
      box.current?.focus();
      box.current?.select();
    }
    was.current = editing;
  }, [editing]);
  const done = (keep: boolean, stays = false) => {
    // A box that goes away says "blur" once more.
    if (!was.current) return;
    was.current = false;
    edit(false);
    const wanted = box.current?.value.trim();
    if (keep && wanted && wanted !== name) rename(wanted, false, stays);
    else refuse({ name: "", why: "" });
  };
  const rename = (wanted: string, replace: boolean, stays = false) => {
    leave();
    refuse({ name: "", why: "" });
    const renamed = ask("rename", { name: wanted, replace });
    void tell(
      renamed.then(
        ({ variable, note, exists }) =>
          exists
            ? setTaken({ name: wanted, why: note })
            : toast(note || `The result is now ${variable}.`),
        stays ? (error) => (refuse({ name: wanted, why: error.message }), edit(true)) : undefined,
      ),
    );
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    done(event.key === "Enter", true);
  };
  if (editing) {
    return (
      <span class="jf-renaming">
        <input
          ref={box}
          class="jf-var-edit"
          aria-invalid={refused.why ? "true" : undefined}
          data-jf="var-name-input"
          aria-label="Name of the variable"
          spellcheck={false}
          maxlength={100}
          defaultValue={refused.name || name}
          onKeyDown={keys}
          onBlur={() => done(true)}
        />
        {refused.why && (
          <p class="jf-err" role="alert">
            {refused.why}
          </p>
        )}
      </span>
    );
  }
  return (
    <>
      <button
        ref={back}
        type="button"
        class={`jf-var ${name ? "" : "jf-changed"}`}
        data-jf={name ? "var-name" : "var-assign"}
        title={`${note || "The DataFrame of this result."}${off ? "" : name ? " Click to rename." : " Click to assign it again."}`}
        disabled={off}
        onClick={() => (name ? edit(true) : rename(lost, false))}
      >
        <span class="jf-cut">{name || `Assign ${lost}`}</span>
        {!off && <Icon name={name ? "pencil" : "undo"} size={12} />}
      </button>
      {taken.name && back.current && (
        <Popover
          anchor={back.current}
          close={leave}
          label="Replace a variable"
          role="alertdialog"
          width={248}
          right
        >
          <div class="jf-form2">
            <p>{taken.why}</p>
            <div class="jf-acts">
              <Button label="Cancel" data-jf="var-keep" onClick={leave} />
              <button
                type="button"
                class="jf-btn is-main"
                data-jf="var-replace"
                onClick={() => rename(taken.name, true)}
              >
                Replace {taken.name}
              </button>
            </div>
          </div>
        </Popover>
      )}
    </>
  );
}

function Save({
  result,
  anchor,
  close,
}: {
  result: P.ResultView;
  anchor: HTMLElement;
  close: () => void;
}) {
  const { ask, tell, toast, query, view } = usePanel();
  const files = Boolean(view?.trusted);
  const [downloads, setDownload] = useState(!files);
  const part = query.filters.length > 0 || query.find !== "" || query.sort.length > 0;
  const [filtered, setFiltered] = useState(part);
  const [naming, setNaming] = useState<string[] | null>(null);
  const save = (format: Format, name: string, replace = false) =>
    ask(
      "save",
      {
        run: result.number,
        format,
        name,
        replace,
        filtered: filtered ? query : null,
        download: downloads,
      },
      600_000,
    ).then((reply) => {
      if (reply.exists) return (setNaming([reply.name]), reply.name);
      if (reply.data)
        download(
          reply.name,
          URL.createObjectURL(
            new Blob([Uint8Array.from(atob(reply.data), (each) => each.charCodeAt(0))]),
          ),
        );
      close();
      toast(reply.said);
      return "";
    });
  const name = (format: Format) => `${result.variable || result.lost || result.function}.${format}`;
  const saveAs = async (wanted: string, replace: boolean) => {
    const format = FORMATS.find(([each]) => wanted.toLowerCase().endsWith(`.${each}`))?.[0];
    if (!format) throw new Error("End the name with .csv, .xlsx, .parquet or .json.");
    return save(format, wanted, replace);
  };
  if (naming)
    return (
      <NameForm
        anchor={anchor}
        close={close}
        title="Save as"
        label="File beside the notebook"
        hook="save"
        start={naming[0] ?? name("csv")}
        taken={naming}
        save={saveAs}
      />
    );
  const items: MenuItem[] = [
    {
      head: `${downloads ? "Download" : "Save"} ${filtered ? "the rows of the table" : plural(result.table.rows, "row")}${downloads ? "" : " in this folder"}`,
    },
    ...FORMATS.map(([format, label]) => ({
      label,
      small: name(format),
      jf: `save:${format}`,
      stay: true,
      click: () => void tell(save(format, name(format))),
    })),
    "-",
  ];
  if (part)
    items.push({
      label: "As the table shows them",
      small: "Filtered and sorted",
      checked: filtered,
      jf: "save-filtered",
      stay: true,
      click: () => setFiltered(!filtered),
    });
  if (files)
    items.push({
      label: "Download in the browser",
      checked: downloads,
      jf: "save-download",
      stay: true,
      click: () => setDownload(!downloads),
    });
  if (!downloads)
    items.push({
      label: "Save as…",
      icon: "pencil",
      jf: "save-as",
      stay: true,
      click: () => setNaming([]),
    });
  if (items.at(-1) === "-") items.pop();
  return <Menu anchor={anchor} close={close} label="Save" items={items} width={248} right />;
}

function Failure({ error, earlier }: { error: P.ErrorView; earlier: boolean }) {
  const { ask, tell, set, submit, copy, live, values, run } = usePanel();
  const [open, setOpen] = useState(false);
  const off = live === "gone";
  const fix = (each: P.ErrorView["fixes"][0]) => {
    set(each.field, mended(values?.fields[each.field] ?? {}, each));
    void submit();
  };
  return (
    <div class="jf-contents" role="alert" data-jf="error">
      <div class={`jf-banner ${run.state === "cancelled" ? "is-warn" : "is-bad"}`}>
        <Icon name="err" />
        <div class="jf-btxt">
          <b>{error.what}</b> {error.hint}
          {earlier && " The result below is from an earlier run."}
        </div>
        <div class="jf-bact">
          {error.fixes.map((each) => (
            <Button
              kind="is-line"
              label={each.text}
              data-jf={`error-fix:${each.field}`}
              disabled={off}
              onClick={() => fix(each)}
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
              onClick={() => void tell(ask("retry", {}))}
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
      </div>
      {open && (
        <div class="jf-details" tabindex={0}>
          {error.details}
          <Button
            kind="is-line"
            icon="copy"
            label="Copy details"
            data-jf="error-copy"
            onClick={() => void copy(error.details)}
          />
        </div>
      )}
    </div>
  );
}

function Partial({ partial }: { partial: NonNullable<P.Run["partial"]> }) {
  const { ask, tell, live } = usePanel();
  const [open, setOpen] = useState(false);
  const { failed, of, rows } = partial;
  const named = rows.slice(0, 3).map(({ label }) => label);
  const retry = (which: number[]) => void tell(ask("retry_failed", { rows: which }));
  return (
    <div class="jf-contents" data-jf="partial">
      <div class="jf-banner is-warn" role="status">
        <Icon name="warn" />
        <div class="jf-btxt">
          <b>
            {count(of - failed)} of {plural(of, "run")} done.
          </b>
          {" Failed: "}
          {named.join("; ")}
          {failed > named.length && `; and ${count(failed - named.length)} more`}.
        </div>
        <div class="jf-bact">
          <Button
            kind="is-line"
            icon="refresh"
            label={`Retry ${plural(failed, "run")}`}
            data-jf="retry-failed"
            disabled={live === "gone"}
            onClick={() => retry([])}
          />
          <Button
            label="Show them"
            chev
            data-jf="failed-runs"
            aria-expanded={open}
            onClick={() => setOpen(!open)}
          />
        </div>
      </div>
      {open && (
        <ul class="jf-faillist" tabindex={0}>
          {rows.map((row, at) => (
            <li key={row.label} data-jf={`failed:${row.label}`}>
              <code>{row.label}</code>
              <span>{row.error}</span>
              <Button
                kind="is-link"
                label="Retry"
                aria={`Retry ${row.label}`}
                data-jf={`retry:${row.label}`}
                disabled={live === "gone"}
                onClick={() => retry([at])}
              />
            </li>
          ))}
          {rows.length < failed && <li class="jf-quiet">and {count(failed - rows.length)} more</li>}
        </ul>
      )}
    </div>
  );
}

/** What the run warned of: the first line, and the others on demand. */
function Warnings({ lines }: { lines: string[] }) {
  const [open, setOpen] = useState(lines.length <= 2);
  return (
    <div class="jf-banner is-warn jf-warned" role="status" data-jf="warnings">
      <Icon name="warn" />
      <div class="jf-btxt">
        {(open ? lines : lines.slice(0, 1)).map((line) => (
          <p key={line}>{line}</p>
        ))}
      </div>
      {!open && (
        <Button
          label={`${lines.length - 1} more`}
          chev
          aria-expanded="false"
          data-jf="warnings-more"
          onClick={() => setOpen(true)}
        />
      )}
    </div>
  );
}

function Blank() {
  const { view, ask, tell, live } = usePanel();
  const { id = "", example = "" } = view?.function ?? {};
  return (
    <div class="jf-blank" data-jf="blank">
      <svg
        class="jf-ghost"
        width="72"
        height="44"
        viewBox="0 0 72 44"
        fill="none"
        stroke="currentColor"
        stroke-width="1.5"
        stroke-linecap="round"
        stroke-linejoin="round"
        aria-hidden="true"
      >
        <path d="M2 42h68M6 32l12-8 10 5 12-14 12 6 14-16" />
        <path d="M6 38l12-3 10 1 12-6 12 2 14-7" opacity="0.5" />
      </svg>
      <b>The result appears here</b>
      <span>Fill in the form and run it{example && ", or start from an example"}.</span>
      {example && (
        <Button
          kind="is-line"
          icon="play"
          label={`Try: ${example}`}
          data-jf="try"
          disabled={live === "gone"}
          onClick={() => void tell(ask("example", { function: id }))}
        />
      )}
    </div>
  );
}

function Skeleton() {
  return (
    <div class="jf-skel" role="status" aria-label="Running">
      <span class="jf-quiet">Running. The result appears here.</span>
      {Array.from({ length: 12 }, (_, row) => (
        <div style={{ opacity: 1 - row * 0.07 }}>
          {[96, 90, 110, 84, 100, 84].map((width, at) => (
            <i style={{ width: `${40 + ((width * (row + 3) * (at + 7)) % 50)}%` }} />
          ))}
        </div>
      ))}
    </div>
  );
}
