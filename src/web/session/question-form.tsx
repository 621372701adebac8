import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";

import { contentOf, fieldsOf, type QuestionField } from "./question-fields.ts";

type Value = string | boolean | readonly string[];

/** The form of a question of the agent (ACP elicitation). */
export function QuestionForm(props: {
  readonly question: Readonly<Record<string, unknown>>;
  readonly onAnswer: (result: object) => void;
}): JSX.Element {
  const { question, onAnswer } = props;
  const fields = useMemo(() => fieldsOf(question["requestedSchema"]), [question]);
  const [values, setValues] = useState<Readonly<Record<string, Value>>>({});
  const url = question["url"];
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onAnswer({ action: "accept", content: contentOf(fields, values) });
      }}
    >
      {typeof url === "string" && /^https?:/.test(url) ? (
        <p>
          <a href={url} target="_blank" rel="noopener noreferrer">
            {url}
          </a>
        </p>
      ) : null}
      {fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          value={values[field.name] ?? field.initial}
          onChange={(value) => setValues((before) => ({ ...before, [field.name]: value }))}
        />
      ))}
      <div class="buttons">
        <button type="submit" class="primary">
          {fields.length === 0 ? "Accept" : "Answer"}
        </button>
        <button type="button" class="danger" onClick={() => onAnswer({ action: "decline" })}>
          Decline
        </button>
      </div>
    </form>
  );
}

function Field(props: {
  readonly field: QuestionField;
  readonly value: Value;
  readonly onChange: (value: Value) => void;
}): JSX.Element {
  const { field, value, onChange } = props;
  const { type, isRequired, choices } = field;
  if (type === "boolean") {
    return (
      <label class="check">
        <input
          type="checkbox"
          checked={value === true}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
        {field.title}
      </label>
    );
  }
  if (type === "choices") {
    const chosen = value as readonly string[];
    return (
      <fieldset>
        <legend>{field.title}</legend>
        {choices.map((choice) => (
          <label class="check" key={choice.value}>
            <input
              type="checkbox"
              checked={chosen.includes(choice.value)}
              onChange={(event) => {
                const others = chosen.filter((each) => each !== choice.value);
                onChange(event.currentTarget.checked ? [...others, choice.value] : others);
              }}
            />
            {choice.title}
          </label>
        ))}
      </fieldset>
    );
  }
  return (
    <label class="field">
      <span>
        {field.title}
        {isRequired ? "" : " (optional)"}
      </span>
      {type === "choice" ? (
        <select
          required={isRequired}
          value={String(value)}
          onChange={(event) => onChange(event.currentTarget.value)}
        >
          <option value="" />
          {choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.title}
            </option>
          ))}
        </select>
      ) : (
        <input
          {...(type === "number" ? { type: "number" as const, step: "any" } : {})}
          required={isRequired}
          value={String(value)}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )}
      {field.description === undefined ? null : <small>{field.description}</small>}
    </label>
  );
}
