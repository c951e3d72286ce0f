import { count, size } from "../core/format";
import { Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import { Elapsed, Progress } from "./progress";
import { QuestionForm } from "./question";

/** How far the run is, and Cancel. */
export function Running() {
  const { run, ask, tell } = usePanel();
  const state = useRunState();
  const note = run.running?.note ?? "";
  return (
    <>
      <div class="jf-progline">
        <span data-jf="progress-text">{[state, note].filter(Boolean).join(" · ")}</span>
        <Elapsed />
      </div>
      <Progress hook="progress" />
      {run.running?.question && <QuestionForm question={run.running.question} />}
      <div class="jf-acts">
        <button
          type="button"
          class="jf-btn is-line is-cancel"
          data-jf="cancel"
          onClick={() => tell(ask("cancel", {}))}
        >
          <Icon name="stop" size={14} fill />
          Cancel
        </button>
      </div>
    </>
  );
}

/** "3 of 12 runs", "Receiving, 6.2 MB". */
function useRunState() {
  const { run, live } = usePanel();
  const { bytes = 0, done = 0, of = 0 } = run.running ?? {};
  if (live === "busy") return "Waiting for the kernel…";
  if (of > 1) return `${count(done)} of ${count(of)} runs`;
  return bytes ? `Receiving, ${size(bytes)}` : "Waiting for the service";
}
