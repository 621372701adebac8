import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";

type FormProps = Omit<JSX.IntrinsicElements["form"], "onSubmit"> & { readonly onSend: () => void };

/** A form that the page sends, and not the browser. */
export function Form({ onSend, ...rest }: FormProps): JSX.Element {
  const submit = (event: Event): void => {
    event.preventDefault();
    onSend();
  };
  return <form {...rest} onSubmit={submit} />;
}

/** The button that sends a form. */
export function Submit(props: JSX.IntrinsicElements["button"]): JSX.Element {
  return <button class="primary" {...props} type="submit" />;
}

type InputProps = Pick<
  JSX.IntrinsicElements["input"],
  "checked" | "class" | "name" | "placeholder" | "required" | "value"
>;

/** A text in one line. What explains it is below it. */
export function TextField({
  label,
  onText,
  children,
  examples = [],
  isWide,
  isNumber,
  isSecret,
  ...rest
}: InputProps & {
  readonly label: string;
  readonly onText: (text: string) => void;
  readonly children?: ComponentChildren;
  /** The first is shown while it is empty; several are offered. */
  readonly examples?: readonly string[];
  readonly isWide?: boolean;
  readonly isNumber?: boolean;
  readonly isSecret?: boolean;
}): JSX.Element {
  const listId = useId();
  const [placeholder = ""] = examples;
  const kind = isNumber === true ? "number" : isSecret === true ? "password" : "text";
  // Preact's types allow no union here.
  const type = kind as "text";
  return (
    <label class={isWide === true ? "field wide" : "field"}>
      <span>{label}</span>
      <input
        type={type}
        step="any"
        autocomplete={isSecret === true ? "off" : ""}
        list={examples.length > 1 ? listId : ""}
        placeholder={placeholder}
        {...rest}
        onInput={({ currentTarget }) => onText(currentTarget.value)}
      />
      <datalist id={listId}>
        {examples.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
      {children}
    </label>
  );
}

export function CheckField({
  label,
  isOneOfSome,
  onCheck,
  ...rest
}: InputProps & {
  readonly label: string;
  readonly isOneOfSome?: boolean;
  readonly onCheck: (isChecked: boolean) => void;
}): JSX.Element {
  return (
    <label class="check">
      <input
        {...rest}
        type={isOneOfSome === true ? "radio" : "checkbox"}
        onChange={({ currentTarget }) => onCheck(currentTarget.checked)}
      />
      {label}
    </label>
  );
}
