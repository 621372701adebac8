import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";

import { contentOf, fieldsOf, type FieldValues } from "../../base/question-fields.ts";
import { FormFields } from "../session/question-form.tsx";
import { Refusal, useAction } from "./dialog.tsx";

/** A form that a JSON schema declares. What the server refuses is said in it, and what was typed stays. */
export function DeclaredForm(props: {
  readonly label: string;
  readonly schema: object;
  readonly submit: string;
  readonly onSubmit: (content: Readonly<Record<string, unknown>>) => Promise<unknown>;
  /** What came of it. */
  readonly children?: ComponentChildren;
  readonly class?: string;
}): JSX.Element {
  const { label, schema, submit, onSubmit, children } = props;
  const [fields] = useState(() => fieldsOf(schema));
  const [values, setValues] = useState<FieldValues>({});
  const [isBusy, refusal, run] = useAction();
  return (
    <form
      class={props.class}
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        run(() => onSubmit(contentOf(fields, values)));
      }}
    >
      <FormFields fields={fields} values={values} onChange={setValues} />
      <Refusal says={refusal} />
      {children}
      <div class="buttons">
        <button type="submit" class="primary" disabled={isBusy}>
          {submit}
        </button>
      </div>
    </form>
  );
}
