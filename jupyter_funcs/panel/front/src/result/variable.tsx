import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Button, Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import { Popover } from "../core/popover";
import type * as P from "../core/protocol";

/** A name and why it was not taken. */
type Refusal = { name: string; why: string };

const NONE: Refusal = { name: "", why: "" };

/** The variable's name, renamed in place, or assigned again where the notebook has taken it. */
export function Variable({ result, off }: { result: P.ResultView; off: boolean }) {
  const { variable: name, lost } = result;
  const { taken, refused, rename, leave, retry } = useRename();
  const [editing, edit] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const finish = (wanted: string | null, isByKey: boolean) => {
    edit(false);
    if (!wanted || wanted === name) return retry();
    rename(wanted, false, isByKey ? () => edit(true) : undefined);
  };
  if (editing) return <NameBox name={refused.name || name} why={refused.why} finish={finish} />;
  return (
    <>
      <button
        ref={button}
        type="button"
        class={`jf-var ${name ? "" : "jf-changed"}`}
        data-jf={name ? "var-name" : "var-assign"}
        title={hint(result, off)}
        disabled={off}
        onClick={() => (name ? edit(true) : rename(lost, false))}
      >
        <span class="jf-cut">{name || `Assign ${lost}`}</span>
        {!off && <Icon name={name ? "pencil" : "undo"} size={12} />}
      </button>
      {taken.name && button.current && (
        <Replace
          anchor={button.current}
          taken={taken}
          leave={leave}
          replace={() => rename(taken.name, true)}
        />
      )}
    </>
  );
}

function hint({ variable, note }: P.ResultView, off: boolean) {
  const about = note || "The DataFrame of this result.";
  if (off) return about;
  return `${about} ${variable ? "Click to rename." : "Click to assign it again."}`;
}

/**
 * Rename the variable; `taken` is a name that another variable has, `refused` one that is not
 * possible.
 */
function useRename() {
  const { ask, tell, toast } = usePanel();
  const [taken, setTaken] = useState(NONE);
  const [refused, setRefused] = useState(NONE);
  const leave = () => setTaken(NONE);
  const retry = () => setRefused(NONE);
  const rename = (name: string, replace: boolean, editAgain?: () => void) => {
    leave();
    retry();
    const renamed = ask("rename", { name, replace }).then(({ variable, note, exists }) => {
      if (exists) setTaken({ name, why: note });
      else toast(note || `The result is now ${variable}.`);
    });
    if (!editAgain) return void tell(renamed);
    const refuse = (error: Error) => {
      setRefused({ name, why: error.message });
      editAgain();
    };
    void tell(renamed.catch(refuse));
  };
  return { taken, refused, rename, leave, retry };
}

type BoxProps = {
  name: string;
  why: string;
  /** Once, with `null` for Escape. */
  finish: (wanted: string | null, isByKey: boolean) => void;
};

/** The box in the name's place. */
function NameBox({ name, why, finish }: BoxProps) {
  const box = useRef<HTMLInputElement>(null);
  const isDone = useRef(false);
  useLayoutEffect(() => {
    box.current?.focus();
    box.current?.select();
  }, []);
  const leave = (keep: boolean, isByKey: boolean) => {
    // A box that goes away says "blur" once more.
    if (isDone.current) return;
    isDone.current = true;
    finish(keep ? (box.current?.value.trim() ?? null) : null, isByKey);
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    leave(event.key === "Enter", true);
  };
  return (
    <span class="jf-renaming">
      <input
        ref={box}
        class="jf-var-edit"
        aria-invalid={why ? "true" : undefined}
        data-jf="var-name-input"
        aria-label="Name of the variable"
        spellcheck={false}
        maxlength={100}
        defaultValue={name}
        onKeyDown={keys}
        onBlur={() => leave(true, false)}
      />
      {why && (
        <p class="jf-err" role="alert">
          {why}
        </p>
      )}
    </span>
  );
}

type ReplaceProps = {
  anchor: HTMLElement;
  taken: Refusal;
  leave: () => void;
  replace: () => void;
};

/** Ask before another variable is replaced. */
const Replace = ({ anchor, taken, leave, replace }: ReplaceProps) => (
  <Popover
    anchor={anchor}
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
        <button type="button" class="jf-btn is-main" data-jf="var-replace" onClick={replace}>
          Replace {taken.name}
        </button>
      </div>
    </div>
  </Popover>
);
