import { useRef, useState } from "preact/hooks";
import { count, inert, plural } from "../core/format";
import { Icon } from "../core/icons";
import type { MenuItem } from "../core/popover";
import { Menu, Popover } from "../core/popover";

import type * as P from "../core/protocol";
import { usePanel, useReply } from "../core/state";

const KINDS: Record<P.Control, string> = {
  choice: "One of a list",
  several: "Several of a list",
  flag: "Yes or no",
  number: "Number",
  date: "Date, such as 2025-11-15",
  text: "Text",
  list: "List of texts",
  json: "JSON",
};

/** "Whole number, 1 to 50". */
function kindOf({ control, integer, minimum: low, maximum: high }: P.FieldView) {
  const kind = control === "number" && integer ? "Whole number" : KINDS[control];
  if (low === null && high === null) return kind;
  return `${kind}, ${low === null ? `up to ${high}` : high === null ? `${low} or more` : `${low} to ${high}`}`;
}

/** One list as a line: values with commas between them. */
const line = (values: string[]) =>
  values
    .map((value) => (/[",]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value))
    .join(", ");

/** The values of a field that has several, or a run for each of several. */
export function several({ value }: P.FieldState): string[] {
  if (value && typeof value === "object" && "each" in value && Array.isArray(value.each))
    return value.each;
  return Array.isArray(value) ? value : typeof value === "string" ? [value] : [];
}
/** Whether each of several values makes a run. */
export const isEach = ({ value }: P.FieldState) =>
  Boolean(value && typeof value === "object" && "each" in value && value.each);
/** What a field holds, with what would fix it in place of what is wrong. */
export function mended(state: P.FieldState, { use, instead }: P.Message): P.PageValue {
  const values = several(state).map((one) => (one === instead ? use : one));
  return isEach(state) ? { each: values } : Array.isArray(state.value) ? values : use;
}

/** Read a pasted list, take its values, and say what became of it. */
export function usePaste({ name }: P.FieldView, take: (values: string[]) => void) {
  const { ask, tell, toast } = usePanel();
  return (text: string) =>
    void tell(
      ask("paste", { field: name, text }).then(({ values, unknown, repeated }) => {
        take(values);
        toast(
          `${plural(values.length, "value")} pasted${unknown.length ? `, ${count(unknown.length)} not in the list` : ""}${repeated ? `, ${plural(repeated, "repeat")} left out` : ""}`,
        );
      }),
    );
}

/** Help and menu of a field. */
export function FieldTools({
  field,
  state,
  onOther,
}: {
  field: P.FieldView;
  state: P.FieldState;
  onOther: (on: boolean) => void;
}) {
  const { view, ask, set, tell } = usePanel();
  const [open, setOpen] = useState<"" | "help" | "menu" | "bind" | "paste">("");
  const help = useRef<HTMLButtonElement | null>(null);
  const menu = useRef<HTMLButtonElement | null>(null);
  const { name, control } = field;
  const each =
    isEach(state) ||
    Boolean(
      state.value &&
        typeof state.value === "object" &&
        "variable" in state.value &&
        state.value.each,
    );
  const list = control === "several" || control === "list";
  const values = several(state);
  const total = field.options?.total ?? (field.flag ? 2 : 0);
  const close = () => setOpen("");
  const later = (next: typeof open) => () => setTimeout(() => setOpen(next));

  const toggle = () => {
    set(
      name,
      !each
        ? { each: values.length ? (list ? [line(values)] : values) : [] }
        : list || control === "json"
          ? null
          : (values[0] ?? null),
    );
    // The values are what comes next.
    const enter = () =>
      menu.current?.closest(".jf-field")?.querySelector(".jf-box :is(input, textarea)") as
        | HTMLElement
        | null
        | undefined;
    if (!each) setTimeout(() => (enter()?.focus(), enter()?.click()), 60);
  };
  const takeAll = async () => {
    const { values: every } = field.flag
      ? { values: field.flag }
      : await ask("all_options", { field: name, group: "", query: "" });
    set(name, { each: list ? every.map((one) => line([one])) : every });
  };
  const paste = usePaste(field, (pasted) => {
    const now =
      control === "list" && !each ? [...values, ...pasted] : [...new Set([...values, ...pasted])];
    set(
      name,
      list && !each
        ? now
        : !each && now.length < 2
          ? (now[0] ?? null)
          : { each: list ? [...values, ...pasted.map((one) => line([one]))] : now },
    );
  });
  const small = each
    ? "On"
    : list
      ? "One run for each list; the results are put together"
      : "One run for each value; the results are put together";
  const items: (MenuItem | false)[] = [
    {
      label: list ? "Run for each of several lists" : "Run for each of several values",
      small,
      jf: `each:${name}`,
      checked: each,
      click: toggle,
    },
    total > 1 && {
      label: `Run for each of all ${count(total)}`,
      icon: "each",
      jf: `each-all:${name}`,
      click: () => void tell(takeAll()),
    },
    Boolean(view?.trusted) && {
      label: "Use a variable…",
      small: "A value of your notebook, looked up at the run",
      icon: "dollar",
      jf: `bind:${name}`,
      click: later("bind"),
    },
    control !== "json" && {
      label: "Paste a list…",
      icon: "list",
      jf: `paste-menu:${name}`,
      click: later("paste"),
    },
    control === "flag" &&
      field.open && {
        label: "Other…",
        small: "Any text, sent as given",
        icon: "pencil",
        jf: `other:${name}`,
        click: () => onOther(true),
      },
    "-",
    {
      label: "Clear",
      icon: "undo",
      jf: `reset:${name}`,
      click: () => (onOther(false), set(name, null)),
    },
  ];
  return (
    <span class="jf-tools">
      <button
        ref={help}
        type="button"
        class="jf-mini"
        data-jf={`help:${name}`}
        aria-label={`About ${field.label}`}
        aria-haspopup="dialog"
        aria-expanded="false"
        onClick={() => setOpen(open === "help" ? "" : "help")}
      >
        <Icon name="info" size={14} />
      </button>
      <button
        ref={menu}
        type="button"
        class="jf-mini"
        data-jf={`field-menu:${name}`}
        aria-label={`${field.label}: options`}
        aria-haspopup="menu"
        aria-expanded="false"
        onClick={() => setOpen(open === "menu" ? "" : "menu")}
      >
        <Icon name="dots" size={14} />
      </button>
      {open === "help" && help.current && (
        <About anchor={help.current} field={field} close={close} />
      )}
      {open === "menu" && menu.current && (
        <Menu
          anchor={menu.current}
          close={close}
          label={field.label}
          right
          width={272}
          items={items.filter((item) => item !== false)}
        />
      )}
      {open === "bind" && menu.current && (
        <Variables anchor={menu.current} field={field} close={close} />
      )}
      {open === "paste" && menu.current && (
        <Paste anchor={menu.current} field={field} close={close} done={paste} />
      )}
    </span>
  );
}

/** The whole help of a field. */
function About({
  anchor,
  field,
  close,
}: {
  anchor: HTMLElement;
  field: P.FieldView;
  close: () => void;
}) {
  return (
    <Popover
      anchor={anchor}
      close={close}
      role="dialog"
      label={`About ${field.label}`}
      class="jf-infopop"
      width={288}
      right
    >
      <div tabindex={0}>
        {field.help ? (
          field.help.split("\n").map((text) => <p>{text}</p>)
        ) : (
          <p class="jf-quiet">The catalog says nothing about it.</p>
        )}
      </div>
      <dl>
        <dt>Name</dt>
        <dd class="jf-mono">{inert(field.name)}</dd>
        <dt>Type</dt>
        <dd>{kindOf(field)}</dd>
        {field.default !== null && (
          <>
            <dt>Default</dt>
            <dd>{field.default}</dd>
          </>
        )}
        <dt>Known from</dt>
        <dd>{field.knownFrom}</dd>
      </dl>
    </Popover>
  );
}

/** The variables of the notebook that the field can be bound to. */
function Variables({
  anchor,
  field,
  close,
}: {
  anchor: HTMLElement;
  field: P.FieldView;
  close: () => void;
}) {
  const { set } = usePanel();
  const [reply, trouble] = useReply("variables", { field: field.name }, []);
  const found = reply?.variables;
  if (!found?.length) {
    const said =
      trouble ||
      (found
        ? "The notebook has no column, list, text, number or date that can be used."
        : "Looking…");
    return (
      <Popover
        anchor={anchor}
        close={close}
        role="dialog"
        label="Use a variable"
        class="jf-infopop"
        width={272}
        right
      >
        <p tabindex={0} role="status">
          {said}
        </p>
      </Popover>
    );
  }
  const list = field.control === "several" || field.control === "list";
  const items = found.map(({ name, about, each }) => ({
    label: `$${name}`,
    small: inert(about),
    jf: `use:${name}`,
    click: () => set(field.name, each ? { each: [`$${name}`] } : list ? [`$${name}`] : `$${name}`),
  }));
  return (
    <Menu
      key="found"
      anchor={anchor}
      close={close}
      label="Use a variable"
      right
      width={272}
      items={items}
    />
  );
}

/** A box for a column of a spreadsheet. */
export function Paste({
  anchor,
  place = null,
  field,
  close,
  done,
}: {
  anchor: HTMLElement;
  place?: HTMLElement | null;
  field: P.FieldView;
  close: () => void;
  done: (text: string) => void;
}) {
  const [text, setText] = useState("");
  return (
    <Popover
      anchor={anchor}
      keep={place}
      close={close}
      role="dialog"
      label={`Paste a list for ${field.label}`}
      class="jf-form2"
      width={288}
      right={!place}
    >
      <h3>Paste a list for {field.label}</h3>
      <div class="jf-box">
        <textarea
          autofocus
          rows={6}
          data-jf={`paste-text:${field.name}`}
          aria-label="Values"
          placeholder="One value per line, as in a column of a spreadsheet"
          value={text}
          onInput={(event: any) => setText(event.currentTarget.value)}
        />
      </div>
      <div class="jf-acts">
        <button type="button" class="jf-btn" onClick={close}>
          Cancel
        </button>
        <button
          type="button"
          class="jf-btn is-main"
          data-jf={`paste-add:${field.name}`}
          onClick={() => (close(), text.trim() && done(text))}
        >
          Add values
        </button>
      </div>
    </Popover>
  );
}
