import type { ComponentChildren, JSX } from "preact";
import { useMemo, useState } from "preact/hooks";

import {
  contentOf,
  fieldsOf,
  type FieldValue,
  type FieldValues,
  type QuestionField,
} from "../../base/question-fields.ts";
import { CheckField, Form, Submit, TextField } from "../view/fields.tsx";
import { Refusal, useAction } from "./dialog.tsx";

/** A form that a JSON schema declares. What the server refuses is said in it, and what was typed stays. */
export function DeclaredForm(props: {
  readonly label: string;
  readonly schema: unknown;
  readonly submit: string;
  readonly onSubmit: (content: Readonly<Record<string, unknown>>) => Promise<unknown>;
  readonly onChange?: (values: FieldValues) => void;
  /** Below the fields: more of them, or what came of it. */
  readonly children?: ComponentChildren;
  /** Beside the button that submits. */
  readonly buttons?: ComponentChildren;
  readonly class?: string;
}): JSX.Element {
  const { label, schema, submit, onSubmit, onChange, children, buttons } = props;
  const fields = useMemo(() => fieldsOf(schema), [schema]);
  const [values, setValues] = useState<FieldValues>({});
  const [isBusy, refusal, run] = useAction();
  const change = (next: FieldValues): void => {
    setValues(next);
    onChange?.(next);
  };
  return (
    <Form
      class={props.class}
      aria-label={label}
      onSend={() => run(() => onSubmit(contentOf(fields, values)))}
    >
      <FormFields fields={fields} values={values} onChange={change} />
      {children}
      <Refusal says={refusal} />
      <div class="buttons">
        <Submit disabled={isBusy}>{isBusy ? `${submit} …` : submit}</Submit>
        {buttons}
      </div>
    </Form>
  );
}

/** Refuses a text that is no JSON, as browsers refuse a number that is none: beside the field. */
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
  const label = `${field.title}${isRequired ? "" : " (optional)"}`;
  const below = field.description === undefined ? null : <small>{field.description}</small>;
  const isArea = type === "json" || type === "lines" || (type === "text" && props.isLong === true);
  if (choices.length === 0 && !isArea) {
    return (
      <TextField
        label={label}
        isSecret={field.isSecret}
        isNumber={type === "number"}
        required={isRequired}
        examples={field.examples}
        value={String(value)}
        onText={onChange}
      >
        {below}
      </TextField>
    );
  }
  return (
    <label class="field">
      <span>{label}</span>
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
      ) : (
        <textarea
          rows={type === "text" ? 1 : 3}
          class={type === "json" ? "mono" : ""}
          // An empty list is a list.
          required={isRequired && type !== "lines"}
          placeholder={type === "json" ? "JSON" : type === "lines" ? "One a line" : example}
          value={String(value)}
          onInput={(event) => {
            if (type === "json") checkJson(event.currentTarget);
            onChange(event.currentTarget.value);
          }}
        />
      )}
      {below}
    </label>
  );
}
