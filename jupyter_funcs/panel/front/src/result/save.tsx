import { useState } from "preact/hooks";
import { plural } from "../core/format";
import { Menu, type MenuItem } from "../core/menu";
import { NameForm } from "../core/nameform";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { FORMATS, type Format, useSave } from "./useSave";

type Props = { result: P.ResultView; anchor: HTMLElement; close: () => void };

/** The menu that saves a result, or asks for a name to save it under. */
export function Save({ result, anchor, close }: Props) {
  const { query, seen, view, tell } = usePanel();
  const hasFiles = Boolean(view?.trusted);
  const isPart =
    query.filters.length > 0 || query.find !== "" || query.sort.length > 0 || seen.steps.length > 0;
  const [download, setDownload] = useState(!hasFiles);
  const [filtered, setFiltered] = useState(isPart);
  const [taken, setTaken] = useState<string[] | null>(null);
  const save = useSave(result, { download, filtered });
  const { file } = result;
  const choices = file ? ([["file", "File"]] as typeof FORMATS) : FORMATS;
  const nameFor = (format: Format) =>
    file?.name ?? `${result.variable || result.lost || result.function}.${format}`;

  const start = async (format: Format, name: string, replace = false) => {
    const exists = await save(format, name, replace);
    if (exists) setTaken([exists]);
    else close();
    return exists;
  };
  const saveAs = async (name: string, replace: boolean) => {
    const ending = FORMATS.find(([ending]) => name.toLowerCase().endsWith(`.${ending}`))?.[0];
    const format = file ? "file" : ending;
    if (!format) throw new Error("End the name with .csv, .xlsx, .parquet or .json.");
    return start(format, name, replace);
  };
  if (taken)
    return (
      <NameForm
        anchor={anchor}
        close={close}
        title="Save as"
        label="File beside the notebook"
        hook="save"
        start={taken[0] ?? nameFor("csv")}
        taken={taken}
        save={saveAs}
      />
    );

  const all = file ? "the file" : plural(result.table.rows, "row");
  const rows = filtered ? "the rows of the table" : all;
  const head = download ? `Download ${rows}` : `Save ${rows} in this folder`;
  const formats = choices.map(([format, label]) => ({
    label,
    small: nameFor(format),
    jf: `save:${format}`,
    stay: true,
    click: () => void tell(start(format, nameFor(format))),
  }));
  const options = [
    isPart && asShown(filtered, setFiltered),
    hasFiles && inBrowser(download, setDownload),
    !download && underName(() => setTaken([])),
  ].filter((option) => option !== false);
  const items = [{ head }, ...formats, ...(options.length ? ["-" as const, ...options] : [])];
  return <Menu anchor={anchor} close={close} label="Save" items={items} width={248} right />;
}

const asShown = (filtered: boolean, setFiltered: (filtered: boolean) => void): MenuItem => ({
  label: "As the table shows them",
  small: "Filtered and sorted",
  checked: filtered,
  jf: "save-filtered",
  stay: true,
  click: () => setFiltered(!filtered),
});

const inBrowser = (download: boolean, setDownload: (download: boolean) => void): MenuItem => ({
  label: "Download in the browser",
  checked: download,
  jf: "save-download",
  stay: true,
  click: () => setDownload(!download),
});

const underName = (click: () => void): MenuItem => ({
  label: "Save as…",
  icon: "pencil",
  jf: "save-as",
  stay: true,
  click,
});
