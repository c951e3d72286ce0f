import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { plural } from "../core/format";
import { Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { useUniqueId } from "../core/useUniqueId";
import { controlOf, isByLine } from "./controls";
import { FieldTools } from "./fieldmenu";
import { isEach, isList, runsForEach, several } from "./fieldstate";
import { Group } from "./group";
import { type FieldMessage, Messages, messagesOf } from "./messages";
import { hasParts } from "./parts";

export interface FieldProps {
  field: P.FieldView;
  /** Names of fields that say that they are required. */
  red: string[];
  onHelp: (field: P.FieldView | null) => void;
}

/** One field: a control, or an object with its parts. */
export function Field(props: FieldProps) {
  const { values } = usePanel();
  const { field } = props;
  return hasParts(field, values?.fields[field.name] ?? {}) ? (
    <Group {...props} />
  ) : (
    <Single {...props} />
  );
}

/** A name, tools, a control and what is said of it. */
function Single({ field, red, onHelp }: FieldProps) {
  const { values } = usePanel();
  const id = useUniqueId();
  const [isOther, setOther] = useState(false);
  const state: P.FieldState = values?.fields[field.name] ?? {};
  const messages = messagesOf(state, red.includes(field.name));
  const Control = controlOf(field, state, isOther);
  const place = useMessagesInSight(messages.length);
  const blur = ({ currentTarget, relatedTarget }: FocusEvent) => {
    const next = relatedTarget as Element | null;
    const isInside = (currentTarget as Element).contains(next);
    // Run must not move from under the pointer that presses it.
    if (!isInside && !next?.closest(".jf-foot")) onHelp(null);
  };
  return (
    <div
      ref={place}
      class={`jf-field ${lookOf(field, state, messages)}`}
      data-jf={`field:${field.name}`}
      onFocusIn={() => onHelp(field)}
      onFocusOut={blur}
    >
      <div class="jf-label">
        <Name field={field} id={id} note={noteOf(field, state)} />
        <FieldTools field={field} state={state} onOther={setOther} />
      </div>
      <Control
        field={field}
        state={state}
        id={id}
        describe={messages.length ? `${id}e` : undefined}
        bad={messages.some((message) => message.isError)}
      />
      {messages.length > 0 && (
        <Messages id={`${id}e`} field={field} state={state} messages={messages} />
      )}
      {state.notes?.map((text) => (
        <div class="jf-each" role="status">
          {text}
        </div>
      ))}
      {isEach(state) && <Sweep field={field} state={state} />}
    </div>
  );
}

/** What is wrong is read where it is typed, also at the foot of the pane. */
function useMessagesInSight(messages: number) {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const box = place.current;
    if (!messages || !box?.contains(document.activeElement)) return;
    box.lastElementChild?.scrollIntoView?.({ block: "nearest" });
  }, [messages]);
  return place;
}

/** The classes of a field. */
function lookOf(field: P.FieldView, state: P.FieldState, messages: FieldMessage[]) {
  const looks = [];
  if (field.short && !isEach(state)) looks.push("is-short");
  if (field.control === "json" || field.parts || isByLine(field, state)) looks.push("is-full");
  if (messages.some((message) => message.isError)) looks.push("is-bad");
  else if (messages.length) looks.push("is-warn");
  return looks.join(" ");
}

/** A few words beside the name: what an empty flag means, or where the value comes from. */
function noteOf(field: P.FieldView, state: P.FieldState) {
  if (runsForEach(state)) return "one run each";
  const isEmpty = (state.value ?? null) === null;
  if (field.control === "flag" && isEmpty && field.default !== null && !field.required)
    return field.hint || `${field.default} (default)`;
  return state.carried ? "carried over" : "";
}

export const Required = () => (
  <>
    <span class="jf-req" aria-hidden="true">
      *
    </span>
    <span class="jf-off"> (required)</span>
  </>
);

function Name({ field, id, note }: { field: P.FieldView; id: string; note: string }) {
  return (
    <div class="jf-named">
      <label for={id} id={`${id}l`} title={field.label}>
        {field.label}
        {field.required && <Required />}
      </label>
      {note && (
        <span class="jf-note" title={note}>
          {note}
        </span>
      )}
    </div>
  );
}

/** How many runs the values make. */
function Sweep({ field, state }: { field: P.FieldView; state: P.FieldState }) {
  const lines = several(state);
  const values = lines.filter((line) => (isList(field) ? line.trim() : line));
  return (
    <div class="jf-each">
      <Icon name="each" size={14} />
      <span>
        {"Runs once for each of "}
        {plural(values.length, isByLine(field, state) ? "line" : "value")}
      </span>
    </div>
  );
}
