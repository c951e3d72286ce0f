import { download } from "../core/download";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";

export type Format = P.Requests["save"]["in"]["format"];

export const FORMATS: [Format, string][] = [
  ["csv", "CSV"],
  ["xlsx", "Excel"],
  ["parquet", "Parquet"],
  ["json", "JSON"],
];
const PATIENCE = 600_000; // milliseconds

/** Return what saves a result; it gives the name of a file that is there already, or "". */
export function useSave(result: P.ResultView, options: { download: boolean; filtered: boolean }) {
  const { ask, toast, query } = usePanel();
  return async (format: Format, name: string, replace: boolean) => {
    const request = {
      run: result.number,
      format,
      name,
      replace,
      filtered: options.filtered ? query : null,
      download: options.download,
    };
    const reply = await ask("save", request, PATIENCE);
    if (reply.exists) return reply.name;
    if (reply.data) download(reply.name, URL.createObjectURL(asBlob(reply.data)));
    toast(reply.said);
    return "";
  };
}

const asBlob = (base64: string) =>
  new Blob([Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))]);
