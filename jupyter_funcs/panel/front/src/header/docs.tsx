import { usePanel } from "../core/panelcontext";
import { Popover } from "../core/popover";
import type * as P from "../core/protocol";
import type { OpenedProps } from "./opened";

const NONE_CHOSEN =
  "Choose a function, fill in its inputs, and run it. The result appears as a table, a chart, " +
  "JSON and code, and in a variable of the notebook.";

/** What the function does and takes, from what the form knows already. */
export function Docs({ anchor, close }: OpenedProps) {
  const { view } = usePanel();
  const about = view?.function;
  return (
    <Popover anchor={anchor} close={close} label="Documentation" role="dialog" width={400} right>
      <div class="jf-infopop jf-about-box" tabindex={0} data-jf="docs-box">
        <p>
          <b>{about?.name ?? "The panel"}</b>
          <br />
          {about?.about ?? NONE_CHOSEN}
        </p>
        <hr />
        {view?.fields.map((field) => (
          <FieldDocs field={field} key={field.name} />
        ))}
        <p class="jf-quiet">
          {"In a cell: "}
          <code class="jf-mono">{about ? `%funcs describe ${about.id}` : "%funcs help"}</code>
        </p>
      </div>
    </Popover>
  );
}

function FieldDocs({ field: { label, required, help } }: { field: P.FieldView }) {
  return (
    <p class="is-field">
      <b>
        {label}
        {required && " *"}
      </b>
      <br />
      {help}
    </p>
  );
}
