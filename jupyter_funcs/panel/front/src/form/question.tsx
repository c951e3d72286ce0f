import { useState } from "preact/hooks";
import { inert } from "../core/format";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { Trouble } from "../core/trouble";

type Answers = { [field: string]: string };

/** What the source asks during a run, with Send and Decline. */
export function QuestionForm({ question }: { question: P.Question }) {
  const { ask, tell } = usePanel();
  const [values, setValues] = useState<Answers>({});
  const [errors, setErrors] = useState<Answers>({});
  const answer = (sent: Answers | null) =>
    tell(ask("answer", { values: sent }).then((reply) => setErrors(reply.errors)));
  return (
    <div
      class="jf-form2 is-question"
      role="group"
      aria-label={`${question.source} asks`}
      data-jf="question"
    >
      <h3>{inert(question.source)} asks</h3>
      <p>{inert(question.text)}</p>
      {question.link && <QuestionLink link={question.link} />}
      {question.fields.map((field) => (
        <QuestionField
          key={field.name}
          field={field}
          value={values[field.name] ?? ""}
          error={errors[field.name]}
          set={(value) => setValues({ ...values, [field.name]: value })}
        />
      ))}
      <div class="jf-acts">
        <button
          type="button"
          class="jf-btn"
          data-jf="question-decline"
          onClick={() => answer(null)}
        >
          Decline
        </button>
        <button
          type="button"
          class="jf-btn is-main"
          data-jf="question-send"
          onClick={() => answer(values)}
        >
          {question.link ? "I have opened it" : "Send"}
        </button>
      </div>
    </div>
  );
}

/** A link of a web page; any other address is only shown. */
function QuestionLink({ link }: { link: string }) {
  const isPage = /^https?:\/\//i.test(link);
  return (
    <p data-jf="question-link">
      {isPage ? (
        <a href={link} target="_blank" rel="noopener noreferrer">
          {inert(link)}
        </a>
      ) : (
        inert(link)
      )}
    </p>
  );
}

interface QuestionFieldProps {
  field: P.Question["fields"][number];
  value: string;
  error: string | undefined;
  set: (value: string) => void;
}

function QuestionField({ field, value, error, set }: QuestionFieldProps) {
  const hook = `question:${field.name}`;
  return (
    <label title={inert(field.help)}>
      <span>
        {inert(field.label)}
        {field.required && (
          <span class="jf-req" aria-hidden="true">
            *
          </span>
        )}
        {field.required && <span class="jf-off"> (required)</span>}
      </span>
      <div class="jf-box">
        {field.options.length ? (
          <select data-jf={hook} value={value} onChange={(event) => set(event.currentTarget.value)}>
            <option value="">{field.default && `${field.default} (default)`}</option>
            {field.options.map((option) => (
              <option key={option} value={option}>
                {inert(option)}
              </option>
            ))}
          </select>
        ) : (
          <input
            data-jf={hook}
            value={value}
            placeholder={field.default}
            onInput={(event) => set(event.currentTarget.value)}
          />
        )}
      </div>
      <Trouble text={error} />
    </label>
  );
}
