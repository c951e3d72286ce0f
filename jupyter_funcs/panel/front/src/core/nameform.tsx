import type { TargetedEvent } from "preact";
import { useState } from "preact/hooks";
import { Popover } from "./popover";
import { Trouble } from "./trouble";

interface NameFormProps {
  anchor: HTMLElement;
  close: () => void;
  title: string;
  label: string;
  hook: string;
  start?: string;
  /** Names for which the button says Replace. */
  taken: string[];
  /** Answers with the name if it turns out to be taken, or "". */
  save: (name: string, replace: boolean) => Promise<string>;
}

/** Ask for a name to save under. */
export function NameForm(props: NameFormProps) {
  const { anchor, close, title, label, hook, start = "", save } = props;
  const [name, setName] = useState(start);
  const [trouble, setTrouble] = useState("");
  const [taken, setTaken] = useState(props.taken);
  const trimmed = name.trim();
  const replace = taken.includes(trimmed);
  const onInput = ({ currentTarget }: TargetedEvent<HTMLInputElement>) => {
    setName(currentTarget.value);
    setTrouble("");
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (!trimmed) return setTrouble("Enter a name.");
    save(trimmed, replace).then(
      (existing) => existing && setTaken([...taken, existing]),
      (error: Error) => setTrouble(error.message),
    );
  };
  return (
    <Popover anchor={anchor} close={close} label={title} role="dialog" width={296} right>
      <form class="jf-form2" onSubmit={submit}>
        <h3>{title}</h3>
        <label>
          {label}
          <div class="jf-box">
            <input
              data-jf={`${hook.split("-")[0]}-name`}
              spellcheck={false}
              maxlength={200}
              value={name}
              onInput={onInput}
            />
          </div>
        </label>
        <Trouble text={trouble || (replace ? `${trimmed} already exists.` : "")} />
        <button type="submit" class="jf-btn is-main" data-jf={`${hook}-now`}>
          {replace ? "Replace" : "Save"}
        </button>
      </form>
    </Popover>
  );
}
