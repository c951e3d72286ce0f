import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { useReply } from "../core/useReply";

type Props = { run: number; file: P.FileView };

/** A result that is a file: what it is, and itself where the browser can show it. */
export const File = ({ run, file }: Props) => (
  <div class="jf-scroll jf-file" tabindex={0} role="region" aria-label="File" data-jf="file">
    <p>
      <b>{file.name}</b> <span class="jf-quiet">{file.about}</span>
    </p>
    {file.shown && <Content run={run} file={file} />}
  </div>
);

/** A picture by its address runs no script, not even an SVG's. */
function Content({ run, file: { name, kind, shown } }: Props) {
  const { live } = usePanel();
  const [reply, trouble] = useReply("file", { run }, [run]);
  if (trouble || !reply)
    return <p class="jf-quiet">{trouble || (live === "gone" ? "" : "Loading…")}</p>;
  if (shown === "text") return <pre>{reply.file}</pre>;
  const source = `data:${kind};base64,${reply.file}`;
  if (shown === "audio") return <audio controls src={source} aria-label={name} />;
  return <img alt={name} src={source} />;
}
