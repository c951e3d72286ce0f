import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { count, marked, plural } from "../core/format";
import { Button, Icon } from "../core/icons";
import type { MenuItem } from "../core/popover";
import { Menu, NameForm, Popover } from "../core/popover";

import type * as P from "../core/protocol";
import { usePanel, useReply, useUniqueId } from "../core/state";

/** What opens where; one at a time. */
interface Opened {
  what: "picker" | "presets" | "save" | "manage" | "menu" | "docs" | "about";
  anchor: HTMLElement;
}

export function Header() {
  const { view, live, drawer, setDrawer, channel } = usePanel();
  const [opened, open] = useState<Opened | null>(null);
  const off = live === "gone" || !view;
  const close = () => open(null);
  const toggle = (what: Opened["what"]) => (event: MouseEvent) => {
    const anchor = event.currentTarget as HTMLElement;
    open((now) => (now?.anchor === anchor ? null : { what, anchor }));
  };
  const waits =
    live === "busy" &&
    (channel.kernel?.status === "busy"
      ? "Waiting for the running cell…"
      : "Waiting for the kernel…");
  return (
    <header class="jf-head">
      <button
        type="button"
        class="jf-btn jf-picker"
        data-jf="picker"
        aria-haspopup="dialog"
        aria-expanded="false"
        disabled={off}
        onClick={toggle("picker")}
      >
        <span class="jf-cut">{view?.function?.name ?? "Choose a function"}</span>
        <Icon name="chev" size={14} class="jf-chev" />
      </button>
      {view && <Service service={view.service} off={off} />}
      <span class="jf-gap jf-waits" role="status" data-jf="waiting">
        {waits}
      </span>
      <Button
        data-jf="presets"
        icon="book"
        label="Presets"
        small
        aria="Presets"
        chev
        aria-haspopup="menu"
        aria-expanded="false"
        disabled={off}
        onClick={toggle("presets")}
      />
      <Button
        data-jf="history"
        icon="clock"
        label="History"
        small
        aria="History"
        aria-pressed={drawer}
        disabled={off}
        onClick={() => setDrawer(!drawer)}
      />
      <Button
        data-jf="menu"
        icon="dots"
        aria="More"
        aria-haspopup="menu"
        aria-expanded="false"
        disabled={off}
        onClick={toggle("menu")}
      />
      {opened && !off && <Box {...opened} close={close} open={open} />}
    </header>
  );
}

function Service({ service, off }: { service: P.ServiceView; off: boolean }) {
  const broken = off || service.trouble.length > 0;
  const aside = service.tokenEnds || (service.synthetic ? "synthetic data" : service.account);
  const title = [
    broken
      ? "Not connected."
      : `Connected to ${service.name}${service.account ? ` as ${service.account}` : ""}.`,
    service.tokenEnds,
  ]
    .join(" ")
    .trim();
  return (
    <span class={`jf-badge ${broken ? "is-off" : ""}`} data-jf="service" title={title}>
      <i />
      <span class="jf-cut">
        {broken ? (
          "not connected"
        ) : (
          <>
            {service.name}
            {aside && <span class="jf-wide-only"> · {aside}</span>}
          </>
        )}
      </span>
    </span>
  );
}

function Box({
  what,
  anchor,
  close,
  open,
}: Opened & { close: () => void; open: (opened: Opened) => void }) {
  const { view, values, run, ask, tell, toast, copy, stacked, setStacked } = usePanel();
  const id = view?.function?.id ?? "";
  const presets = view?.presets ?? [];
  const own = presets.filter((each) => !each.shipped);
  if (what === "picker") return <Picker anchor={anchor} close={close} />;
  if (what === "save")
    return <SavePreset anchor={anchor} close={close} taken={own.map((each) => each.name)} />;
  if (what === "manage") return <ManagePresets anchor={anchor} close={close} presets={own} />;
  if (what === "docs") return <Docs anchor={anchor} close={close} />;
  if (what === "about") return <About anchor={anchor} close={close} />;
  if (what === "presets") {
    const fill = (preset: P.PresetView & { function?: string }) =>
      tell(
        ask("preset", { name: preset.name, function: preset.function ?? id }).then(
          ({ said }) => said && toast(said),
        ),
      );
    const listed = id ? presets : (view?.start?.presets ?? []);
    const items: MenuItem[] = [
      { head: id ? "This function" : "All functions" },
      ...listed.map((each) => ({
        label: each.name,
        small: each.about,
        checked: id && values?.preset === each.name ? true : undefined,
        jf: `preset:${each.name}`,
        click: () => void fill(each),
      })),
    ];
    if (!listed.length) items.push({ label: "No presets yet", off: true, click: () => {} });
    if (id)
      items.push("-", {
        label: "Save these values as a preset…",
        icon: "plus",
        jf: "preset-save",
        click: () => open({ what: "save", anchor }),
      });
    if (own.length)
      items.push({
        label: "Manage presets…",
        icon: "list",
        jf: "preset-manage",
        click: () => open({ what: "manage", anchor }),
      });
    return <Menu anchor={anchor} close={close} label="Presets" items={items} width={296} right />;
  }
  const items: MenuItem[] = [
    {
      label: "Refresh list of functions",
      icon: "refresh",
      jf: "refresh",
      click: () => void tell(ask("refresh", {}).then(({ said }) => toast(said))),
    },
    {
      label: "Copy code",
      small: "This run as a line of a notebook",
      icon: "code",
      jf: "copy-code",
      off: !id,
      click: () => void tell(ask("code", {}).then(({ blocks }) => copy(blocks[0]?.code ?? ""))),
    },
    "-",
    {
      label: "Inputs on the left",
      checked: !stacked,
      jf: "form-side",
      click: () => setStacked(!stacked),
    },
    "-",
    {
      label: "Documentation",
      small: id ? "What this function does and takes" : "How to use the panel",
      icon: "book",
      jf: "docs",
      click: () => open({ what: "docs", anchor }),
    },
    {
      label: "About",
      small: "Version, service and token",
      icon: "info",
      jf: "about",
      click: () => open({ what: "about", anchor }),
    },
  ];
  return (
    <Menu
      anchor={anchor}
      close={close}
      label="More"
      items={items}
      width={264}
      right
      key={run.number}
    />
  );
}

/** Search in names, descriptions, parameters and options; the kernel ranks. */
function Picker({ anchor, close }: { anchor: HTMLElement; close: () => void }) {
  const { view, ask, choose, tell, announce, toast } = usePanel();
  const [query, setQuery] = useState("");
  const [found, setFound] = useState<{
    query: string;
    sections: P.Section[];
    total: number;
    found: number;
  } | null>(null);
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement | null>(null);
  const asked = useRef(0);
  const id = useUniqueId();

  const searched = found?.query ?? "";
  const rows = found?.sections.flatMap((section) => section.functions) ?? [];
  const search = (wanted: string, from = 0) => {
    const mine = ++asked.current;
    return ask("functions", { query: wanted, from }).then(
      (reply) =>
        mine === asked.current &&
        setFound({
          ...reply,
          sections: [...(from ? (found?.sections ?? []) : []), ...reply.sections],
          query: wanted,
        }),
      (error) => mine === asked.current && toast(error.message),
    );
  };
  useEffect(() => {
    const timer = setTimeout(() => void search(query.trim()), query ? 120 : 0);
    return () => clearTimeout(timer);
  }, [query]);
  useLayoutEffect(
    () => list.current?.querySelector(".is-on")?.scrollIntoView?.({ block: "nearest" }),
    [at, found],
  );

  const more = ({ currentTarget: box }: Event & { currentTarget: any }) => {
    if (
      found &&
      rows.length < found.found &&
      box.scrollTop + 2 * box.clientHeight > box.scrollHeight
    )
      void search(found.query, rows.length);
  };
  const pick = (row: P.Section["functions"][0]) => {
    close();
    if (row.id !== view?.function?.id) choose(row.id);
  };
  const star = async (row: P.Section["functions"][0]) => {
    await tell(ask("favourite", { function: row.id, on: !row.favourite }));
    announce(
      row.favourite ? `Removed ${row.name} from favourites` : `Added ${row.name} to favourites`,
    );
    await search(query.trim());
  };
  const keys = (event: KeyboardEvent) => {
    const go = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: Math.min(at + 8, rows.length - 1),
      PageUp: Math.max(at - 8, 0),
    }[event.key];
    if (go !== undefined && rows.length) setAt((go + rows.length) % rows.length);
    else if (event.key === "Enter" && searched !== query.trim())
      void tell(
        ask("functions", { query: query.trim(), from: 0 }).then(
          ({ sections: [first] }) => first && pick(first.functions[0]),
        ),
      );
    else if (event.key === "Enter" && rows[at]) pick(rows[at]);
    else if (event.key.toLowerCase() === "d" && (event.ctrlKey || event.metaKey) && rows[at])
      void star(rows[at]);
    else if (event.key === "Escape" && query) setQuery("");
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  let place = 0;
  return (
    <Popover
      anchor={anchor}
      close={close}
      label="Choose a function"
      role="dialog"
      class="jf-picking"
      width={480}
    >
      <div class="jf-search">
        <Icon name="search" />
        <input
          data-jf="picker-search"
          role="combobox"
          aria-expanded="true"
          aria-controls={id}
          aria-label="Search functions"
          aria-autocomplete="list"
          autocomplete="off"
          spellcheck={false}
          aria-activedescendant={rows.length ? `${id}-${at}` : undefined}
          placeholder="Search functions, fields and values"
          maxlength={200}
          value={query}
          onInput={(event: any) => (setQuery(event.currentTarget.value), setAt(0))}
          onKeyDown={keys}
        />
      </div>
      <div class="jf-list" role="listbox" id={id} aria-label="Functions" ref={list} onScroll={more}>
        {found?.sections.map((section, nth) => (
          <div role="group" aria-label={section.title || "Found"} key={nth}>
            {section.title && section.title !== found.sections[nth - 1]?.title && (
              <div class="jf-ph" aria-hidden="true">
                {section.title}
              </div>
            )}
            {section.functions.map((row) => {
              const here = place++;
              return (
                <div
                  class={`jf-opt is-two ${here === at ? "is-on" : ""}`}
                  role="option"
                  id={`${id}-${here}`}
                  aria-selected={here === at}
                  data-jf={`function:${row.id}`}
                  onMouseMove={() => here !== at && setAt(here)}
                  onClick={() => pick(row)}
                >
                  <div>
                    {row.group !== section.title && <span class="is-group">{row.group}</span>}
                    <span>{marked(row.name, searched)}</span>
                    {row.changesData && <span class="jf-quiet"> · changes data</span>}
                    <p>{marked(row.about, searched)}</p>
                  </div>
                  <span
                    class={`jf-star ${row.favourite ? "is-set" : ""}`}
                    aria-hidden="true"
                    title={`${row.favourite ? "Remove from" : "Add to"} favourites (Ctrl+D)`}
                    data-jf={`star:${row.id}`}
                    onClick={(event: Event) => (event.stopPropagation(), void star(row))}
                  >
                    <Icon name="star" fill={row.favourite} />
                  </span>
                  {row.favourite && <span class="jf-off">favourite</span>}
                </div>
              );
            })}
          </div>
        ))}
        {found && !rows.length && (
          <div class="jf-blank">
            <b>No function matches “{searched}”</b>
            <span>Try fewer words, or “Refresh list of functions” in the ⋯ menu.</span>
          </div>
        )}
      </div>
      <div class="jf-pf">
        <span>
          {found &&
            (searched
              ? `${count(found.found)} of ${plural(found.total, "function")}`
              : plural(found.total, "function"))}
        </span>
        <span class="jf-gap" />
        <span class="is-keys">
          <kbd>↑↓</kbd> move <kbd>Enter</kbd> open <kbd>Ctrl D</kbd> favourite <kbd>Esc</kbd> close
        </span>
      </div>
    </Popover>
  );
}

function SavePreset({
  anchor,
  close,
  taken,
}: {
  anchor: HTMLElement;
  close: () => void;
  taken: string[];
}) {
  const { ask, toast } = usePanel();
  const save = (name: string, replace: boolean) =>
    ask("preset_save", { name, replace }).then((reply) =>
      reply.exists ? name : (close(), toast(reply.said), ""),
    );
  return (
    <NameForm
      anchor={anchor}
      close={close}
      title="Save these values as a preset"
      label="Name"
      hook="preset-save"
      taken={taken}
      save={save}
    />
  );
}

function ManagePresets({
  anchor,
  close,
  presets,
}: {
  anchor: HTMLElement;
  close: () => void;
  presets: P.PresetView[];
}) {
  const { ask, tell, toast } = usePanel();
  const remove = (name: string) =>
    tell(
      ask("preset_delete", { name }).then(
        ({ said }) => (toast(said), presets.length < 2 && close()),
      ),
    );
  return (
    <Popover anchor={anchor} close={close} label="Presets" role="dialog" width={296} right>
      <div class="jf-ph">Your presets of this function</div>
      <ul class="jf-list">
        {presets.map(({ name }) => (
          <li class="jf-preset" key={name}>
            <span>{name}</span>
            <span class="is-end">
              <Button
                icon="x"
                aria={`Delete ${name}`}
                data-jf={`preset-delete:${name}`}
                onClick={() => void remove(name)}
              />
            </span>
          </li>
        ))}
      </ul>
    </Popover>
  );
}

function About({ anchor, close }: { anchor: HTMLElement; close: () => void }) {
  const [reply, trouble] = useReply("about", {}, []);
  return (
    <Popover anchor={anchor} close={close} label="About" role="dialog" width={360} right>
      <div class="jf-infopop jf-about-box" tabindex={0} data-jf="about-box">
        <dl>
          {reply?.facts.map(([name, fact]) => (
            <>
              <dt>{name}</dt>
              <dd>{fact}</dd>
            </>
          ))}
        </dl>
        {!reply && <p class="jf-quiet">{trouble || "Loading…"}</p>}
      </div>
    </Popover>
  );
}

/** What the function does and takes, from what the form knows already. */
function Docs({ anchor, close }: { anchor: HTMLElement; close: () => void }) {
  const { view } = usePanel();
  const about = view?.function;
  return (
    <Popover anchor={anchor} close={close} label="Documentation" role="dialog" width={400} right>
      <div class="jf-infopop jf-about-box" tabindex={0} data-jf="docs-box">
        <p>
          <b>{about?.name ?? "The panel"}</b>
          <br />
          {about?.about ??
            "Choose a function, fill in its inputs, and run it. The result appears as a table, a chart, JSON and code, and in a variable of the notebook."}
        </p>
        <hr />
        {view?.fields.map(({ name, label, required, help }) => (
          <p class="is-field" key={name}>
            <b>
              {label}
              {required && " *"}
            </b>
            <br />
            {help}
          </p>
        ))}
        <p class="jf-quiet">
          {"In a cell: "}
          <code class="jf-mono">{about ? `%funcs describe ${about.id}` : "%funcs help"}</code>
        </p>
      </div>
    </Popover>
  );
}
