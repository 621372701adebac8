import type { JSX } from "preact";
import { CheckField, Form, Submit } from "../view/fields.tsx";
import { useId, useMemo, useState } from "preact/hooks";

import {
  contentOf,
  fieldsOf,
  type FieldValue,
  type FieldValues,
  type QuestionField,
} from "../../base/question-fields.ts";

/** The form of a question of the agent (ACP elicitation). */
export function QuestionForm(props: {
  readonly question: Readonly<Record<string, unknown>>;
  readonly onAnswer: (result: object) => void;
}): JSX.Element {
  const { question, onAnswer } = props;
  const fields = useMemo(() => fieldsOf(question["requestedSchema"]), [question]);
  const [values, setValues] = useState<FieldValues>({});
  const url = question["url"];
  return (
    <Form onSend={() => onAnswer({ action: "accept", content: contentOf(fields, values) })}>
      {typeof url === "string" && /^https?:/.test(url) ? (
        <p>
          <a href={url} target="_blank" rel="noopener noreferrer">
            {url}
          </a>
        </p>
      ) : null}
      <FormFields fields={fields} values={values} onChange={setValues} />
      <div class="buttons">
        <Submit>{fields.length === 0 ? "Accept" : "Answer"}</Submit>
        <button type="button" class="danger" onClick={() => onAnswer({ action: "decline" })}>
          Decline
        </button>
      </div>
    </Form>
  );
}

/** Marks the field as invalid if its text is not JSON, as browsers do for number fields. */
export function checkJson(field: HTMLTextAreaElement): void {
  field.setCustomValidity(jsonProblem(field.value));
}

function jsonProblem(text: string): string {
  if (text.trim() === "") return "";
  try {
    JSON.parse(text);
    return "";
  } catch (error) {
    return `This is not JSON: ${(error as Error).message}`;
  }
}

export function FormFields(props: {
  readonly fields: readonly QuestionField[];
  readonly values: FieldValues;
  readonly onChange: (values: FieldValues) => void;
  /** Texts may have several lines. */
  readonly isLong?: boolean;
}): JSX.Element {
  const { fields, values, onChange, isLong } = props;
  return (
    <>
      {fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          {...(isLong === true ? { isLong } : {})}
          value={values[field.name] ?? field.initial}
          onChange={(value) => onChange({ ...values, [field.name]: value })}
        />
      ))}
    </>
  );
}

function Field(props: {
  readonly field: QuestionField;
  readonly value: FieldValue;
  readonly onChange: (value: FieldValue) => void;
  /** A text may have several lines. */
  readonly isLong?: boolean;
}): JSX.Element {
  const { field, value, onChange } = props;
  const { type, isRequired, choices } = field;
  const [example = ""] = field.examples;
  const listId = useId();
  if (type === "boolean") {
    return <CheckField label={field.title} checked={value === true} onCheck={onChange} />;
  }
  if (type === "choices") {
    const chosen = value as readonly string[];
    return (
      <fieldset>
        <legend>{field.title}</legend>
        {choices.map((choice) => (
          <CheckField
            key={choice.value}
            label={choice.title}
            checked={chosen.includes(choice.value)}
            onCheck={(isChecked) => {
              const others = chosen.filter((each) => each !== choice.value);
              onChange(isChecked ? [...others, choice.value] : others);
            }}
          />
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
      {choices.length > 0 ? (
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
      ) : type === "json" || type === "lines" || (type === "text" && props.isLong === true) ? (
        <textarea
          rows={type === "text" ? 1 : 3}
          class={type === "json" ? "mono" : ""}
          // An empty list is a list.
          required={isRequired && type !== "lines"}
          placeholder={{ json: "JSON", lines: "One a line", text: example }[type]}
          value={String(value)}
          onInput={(event) => {
            if (type === "json") checkJson(event.currentTarget);
            onChange(event.currentTarget.value);
          }}
        />
      ) : (
        <input
          {...(type === "number" ? { type: "number" as const, step: "any" } : {})}
          required={isRequired}
          placeholder={example}
          list={field.examples.length > 1 ? listId : ""}
          value={String(value)}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )}
      <datalist id={listId}>
        {field.examples.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
      {field.description === undefined ? null : <small>{field.description}</small>}
    </label>
  );
}
