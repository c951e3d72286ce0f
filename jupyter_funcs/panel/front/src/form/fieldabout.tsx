import { inert } from "../core/format";
import { Popover } from "../core/popover";
import type * as P from "../core/protocol";

const KINDS: Record<P.Control, string> = {
  choice: "One of a list",
  several: "Several of a list",
  flag: "Yes or no",
  number: "Number",
  date: "Date, such as 2025-11-15",
  text: "Text",
  list: "List of texts",
  json: "JSON",
  group: "Group of fields",
  rows: "Rows of fields",
};

/** "Whole number, 1 to 50". */
function kindOf({ control, integer, minimum: low, maximum: high }: P.FieldView) {
  const kind = control === "number" && integer ? "Whole number" : KINDS[control];
  if (low === null && high === null) return kind;
  if (low === null) return `${kind}, up to ${high}`;
  if (high === null) return `${kind}, ${low} or more`;
  return `${kind}, ${low} to ${high}`;
}

interface AboutProps {
  anchor: HTMLElement;
  field: P.FieldView;
  close: () => void;
}

/** The whole help of a field. */
export function FieldAbout({ anchor, field, close }: AboutProps) {
  const paragraphs = field.help ? field.help.split("\n") : [];
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
        {paragraphs.map((text) => (
          <p>{text}</p>
        ))}
        {field.schema && <pre class="jf-mono">{field.schema}</pre>}
        {!paragraphs.length && !field.strict && (
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
